"""Slurm on the namespaces of one machine: a daemon in each, and all of their
files in one folder."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

from cluster_test.jobs import Failure, Launcher

CONFIGURATION = """\
ClusterName=sluice
MailProg=/bin/true
SlurmctldHost={machine}({first})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
NodeName=n[1-{count}] NodeAddr={addresses} CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=n[1-{count}] Default=YES State=UP
"""


class Slurm(Launcher):
    """munged, slurmctld and a slurmd for each rank, while the context lasts."""
    name = "Slurm"
    killed = r"task 2: Killed"

    def __enter__(self):
        self.daemons = []
        self.files = pathlib.Path(self.folder, "slurm")
        self.files.mkdir()
        try:
            self.configure()
            self.start_daemons()
            self.wait_for_nodes()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def configure(self):
        hosts = self.network.hosts
        # None of these machines can be asked for its control groups.
        (self.files / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (self.files / "slurm.conf").write_text(CONFIGURATION.format(
            machine=socket.gethostname(), first=hosts[0], folder=self.files,
            count=len(hosts), cores=os.cpu_count(),
            addresses=",".join(hosts)))
        (self.files / "state").mkdir()
        for k in range(len(hosts)):
            (self.files / f"spool-n{k + 1}").mkdir()
            (self.files / f"tmp-n{k + 1}").mkdir()
        key = self.files / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))

    def start_daemons(self):
        files = self.files
        self.daemon(0, "munged", "--foreground", "--force", "--socket",
                    files / "munge.socket", "--key-file", files / "munge.key",
                    "--pid-file", files / "munged.pid", "--seed-file",
                    files / "munge.seed", "--log-file", files / "munged.log")
        start = time.monotonic()
        while not (files / "munge.socket").exists():
            if time.monotonic() > start + 10:
                raise Failure("munged does not start: " + self.said("munged"))
            time.sleep(0.05)
        configuration = files / "slurm.conf"
        self.daemon(0, "slurmctld", "-D", "-f", configuration)
        for k in range(len(self.network.hosts)):
            self.daemon(k, "slurmd", "-D", "-N", f"n{k + 1}", "-f",
                        configuration)

    def daemon(self, k, name, *options):
        log = self.files / f"{name}-{k + 1}.said"
        with open(log, "wb") as said:
            self.daemons.append(subprocess.Popen(
                self.network.inside(k, f"/usr/sbin/{name}",
                                    *map(str, options)),
                stdout=said, stderr=said, stdin=subprocess.DEVNULL,
                start_new_session=True))

    def said(self, name):
        return (self.files / f"{name}-1.said").read_text()[-2000:]

    def environment(self):
        return {"SLURM_CONF": str(self.files / "slurm.conf"),
                "HOME": str(self.folder), "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_btl": "self,tcp",
                "OMPI_MCA_btl_tcp_if_include": "eth0",
                # By default one start in some 40 dies in MPI_Init, where a
                # rank hears of another that is ahead of it.
                "SLURM_PMIX_FENCE": "tree"}

    def wait_for_nodes(self):
        ask = self.network.inside(0, "sinfo", "--noheader", "--format=%T %D")
        wanted = f"idle {len(self.network.hosts)}"
        start = time.monotonic()
        while True:
            states = subprocess.run(
                ask, capture_output=True, text=True,
                env={**os.environ, **self.environment()}).stdout.strip()
            if states == wanted:
                return
            if time.monotonic() > start + 30:
                raise Failure(f"Slurm's nodes are '{states}', not '{wanted}': "
                              + self.said("slurmctld") + self.said("slurmd"))
            time.sleep(0.2)

    def launch(self, ranks):
        # Else the others wait for one that has died before they met.
        return ["srun", "--mpi=pmix", "--kill-on-bad-exit=1", "-n", ranks,
                "-N", ranks]

    def clean(self):
        """The daemons go on; the ranks of a job that srun has not ended do
        not."""
        for k in range(len(self.network.hosts)):
            while pid := self.find_rank(k):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.02)

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.network.end_processes()
