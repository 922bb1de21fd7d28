"""Jobs of five ranks: under the launchers, over a network's links."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

AGENT = pathlib.Path(__file__).with_name("agent")
PATIENCE_S = 90


class Failure(Exception):
    """What is not as it should be."""


class Job:
    """A command, with what it prints in files."""

    def __init__(self, command, folder, environment=None):
        folder = pathlib.Path(folder)
        self.paths = [folder / "out", folder / "err"]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdout=out, stderr=err,
                stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, **(environment or {})})

    def out(self):
        return self.paths[0].read_text(errors="replace")

    def err(self):
        return self.paths[1].read_text(errors="replace")

    def fail(self, what):
        lines = [line for line in self.err().splitlines() if line.strip()]
        raise Failure(what + "".join(f"\n    {line}" for line in lines[-12:]))

    def wait(self, seconds=PATIENCE_S):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"still runs after {seconds} s")

    def result(self):
        """Of `generate --json`."""
        if status := self.wait():
            self.fail(f"status {status}")
        return json.loads(self.out())

    def wait_for_text(self):
        start = time.monotonic()
        while not self.out().strip():
            if self.process.poll() is not None:
                self.fail(f"status {self.process.returncode}, no text")
            if time.monotonic() > start + PATIENCE_S:
                self.fail("nothing is generated")
            time.sleep(0.05)

    def end(self):
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Launcher:
    """Starts one rank in each namespace of a network. `program` is the
    executable and what is beside it; `folder` is for temporary files."""

    def __init__(self, network, program, folder):
        self.network, self.program, self.folder = network, program, folder
        for k in range(len(network.hosts)):
            pathlib.Path(folder, f"tmp-{k + 1}").mkdir(exist_ok=True)

    def environment(self):
        return {"SLUICE_CLUSTER_NAME": self.network.name,
                "SLUICE_CLUSTER_FOLDER": str(self.folder),
                "TMPDIR": f"{self.folder}/tmp-1", "HOME": str(self.folder)}

    @contextlib.contextmanager
    def start(self, *options):
        """A job that generates, and that is gone at the end."""
        ranks = str(len(self.network.hosts))
        # The ranks share this machine's cores, so each has one thread. To the
        # launchers they are on machines of their own; that --emulate has one
        # clock for all of them only this test knows.
        together = ["env", f"OMPI_COMM_WORLD_LOCAL_SIZE={ranks}",
                    f"MPI_LOCALNRANKS={ranks}"]
        job = Job([*self.network.inside(0, *self.launch(ranks)), *together,
                   self.program,
                   "generate", "-t", "1", *options], self.folder,
                  self.environment())
        try:
            yield job
        finally:
            job.end()
            self.clean()

    def clean(self):
        self.network.end_processes()

    def run(self, *options):
        with self.start("--json", *options) as job:
            return job.result()

    def find_rank(self, k):
        """The process of rank k, which is the only one of its namespace."""
        pids = subprocess.run(["ip", "netns", "pids", self.network.spaces[k]],
                              capture_output=True, text=True).stdout.split()
        for pid in map(int, pids):
            with contextlib.suppress(OSError):
                if os.path.samefile(f"/proc/{pid}/exe", self.program):
                    return pid
        return None

    def living(self):
        return [k for k in range(len(self.network.hosts))
                if self.find_rank(k) is not None]


class OpenMpi(Launcher):
    name = "Open MPI"
    # How the launcher itself tells of a rank that was killed.
    killed = r"process rank 2 .*signal 9"

    def launch(self, ranks):
        hosts = ",".join(f"{host}:1" for host in self.network.hosts)
        settings = {"plm_rsh_agent": AGENT, "pml": "ob1", "btl": "self,tcp",
                    "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0",
                    "oob_tcp_keepalive_time": 2, "oob_tcp_keepalive_intvl": 1,
                    "oob_tcp_keepalive_probes": 3}
        return ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none",
                "--host", hosts, "-n", ranks,
                *(word for name, value in settings.items()
                  for word in ("--mca", name, value))]


class Mpich(Launcher):
    name = "MPICH"
    killed = r"terminated badly|EXIT CODE: 9|signal 9"

    def launch(self, ranks):
        return ["mpirun.mpich", "-hosts",
                ",".join(f"{host}:1" for host in self.network.hosts),
                "-launcher", "ssh", "-launcher-exec", AGENT, "-iface", "eth0",
                "-n", ranks]

    def environment(self):
        # Debian's MPICH speaks through UCX, which would find out that all
        # "machines" share one memory.
        return {**super().environment(), "UCX_TLS": "tcp,self",
                "UCX_NET_DEVICES": "eth0"}
