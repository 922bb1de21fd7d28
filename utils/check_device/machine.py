"""Where parts run: commands whose results are kept as they come."""
import dataclasses
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

# Where drivers are mounted into machines whose loader does not look there.
DRIVERS = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib")
# Between the request to end a command and its end by force.
GRACE_S = 1.0


def libraries():
    return ":".join([each for each in (os.environ.get("LD_LIBRARY_PATH"),)
                     if each] + [each for each in DRIVERS
                                 if os.path.isdir(each)])


class Failure(Exception):
    """A part has failed; the text is one line."""


class NotHere(Exception):
    """A part cannot run here; the text says what is missing."""


def object_of(line):
    """The JSON object that a line is, or None; the last one may be cut off."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def lines_of(text):
    """The JSON objects among the lines."""
    return [each for each in map(object_of, text.splitlines())
            if each is not None]


class Results:
    """A file of JSON lines, each of which is on the disk when add() returns: a
    run that is ended keeps what it had."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "w", encoding="utf-8")
        self.lock = threading.Lock()
        self.lines = []

    def add(self, line):
        with self.lock:
            self.lines.append(line)
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()
            os.fsync(self.file.fileno())


@dataclasses.dataclass
class Machine:
    """Where parts run, and what is asked of all of them."""
    carry: pathlib.Path
    report: pathlib.Path
    scratch: pathlib.Path  # gone at the end
    results: Results
    options: tuple = ()  # words for the program's --options
    slower: float = 1.0  # limits are so many times as long
    part: str = ""
    began: float = 0.0
    deadline: float = 0.0
    processes: set = dataclasses.field(default_factory=set)  # that run now

    def add(self, **line):
        """A result of the part that runs; `second`: of the stage."""
        self.results.add({"part": self.part, **line,
                          "second": round(time.monotonic() - self.began, 2)})

    def program(self):
        path = self.carry / "sluice-device-check"
        if not path.is_file():
            raise NotHere(f"{path.name} was not carried")
        return str(path)

    def manifest(self):
        try:
            return json.loads((self.carry / "manifest.json").read_text())
        except OSError:
            return {}

    def tool(self, name):
        for each in (shutil.which(name), f"/usr/local/cuda/bin/{name}"):
            if each and os.access(each, os.X_OK):
                return each
        raise NotHere(f"{name} is not installed")

    def check(self, *arguments, options=(), environment=None):
        """Runs the carried program; what it says of results is kept, a line as
        it comes. `options`: words for --options, besides those of all parts,
        which count where both speak of the same."""
        words = [*options, *self.options]
        options = ["--options", ",".join(words)] if words else []
        tiny = ["--tiny"] if self.manifest().get("shape") else []
        self.run(self.program(), *tiny, *options, *arguments, keep=True,
                 environment=environment)

    def model(self, name, *arguments):
        """The standard output of a model's own executable."""
        words = [*self.patience(10), *self.options]
        return self.run(self.program(), "model", name, *arguments,
                        environment={"SLUICE_CUDA_OPTIONS": ",".join(words)})

    def patience(self, seconds):
        """The word that ends a wait for a GPU; an emulated one may take long."""
        return () if self.manifest().get("shape") else (f"patience={seconds}",)

    def run(self, *command, environment=None, keep=False, seconds=None):
        """The command's standard output; it ends with the part's time, or with
        `seconds` of its own. keep: its JSON lines are results."""
        words = [str(each) for each in command]
        left = max(1.0, self.deadline - time.monotonic())
        if seconds:
            left = min(left, seconds * self.slower)
        # A group of its own, so that what it has started ends with it.
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
            env=dict(os.environ, LD_LIBRARY_PATH=libraries(),
                     **(environment or {})))
        self.processes.add(process)
        said, complained = [], []
        # Daemons: what hangs in the driver keeps its pipe open for ever, and
        # this process ends all the same.
        readers = [threading.Thread(target=self.read, args=arguments,
                                    daemon=True)
                   for arguments in ((process.stdout, said, keep),
                                     (process.stderr, complained, False))]
        for reader in readers:
            reader.start()
        try:
            status = process.wait(timeout=left)
        except subprocess.TimeoutExpired:
            status = None
            self.end(process)
        self.processes.discard(process)
        for reader in readers:
            reader.join(timeout=5)
        out, err = "".join(said), "".join(complained)
        self.keep(words, out, err)
        if status is None:
            raise TimeoutError(f"not done within {left:.0f} s")
        if status != 0:
            raise Failure(f"status {status}: {last_line(err) or last_line(out)}")
        return out

    def read(self, stream, lines, keep):
        for line in stream:
            lines.append(line)
            result = object_of(line) if keep else None
            if result is not None:
                result.pop("part", None)
                self.add(**result)

    @staticmethod
    def end(process):
        """First as a user would; what is in the kernel is left behind."""
        for number, wait in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, 5)):
            try:
                os.killpg(process.pid, number)
                process.wait(timeout=wait)
                return
            except (subprocess.TimeoutExpired, ProcessLookupError):
                continue

    def end_all(self):
        """What runs has groups of its own, and would outlive this process."""
        for process in list(self.processes):
            self.end(process)

    def keep(self, words, out, err):
        """All that was said, for whoever wants to know more."""
        said = " ".join(words).replace(str(self.carry), "CARRY")
        with open(self.report / "output.txt", "a", encoding="utf-8") as file:
            file.write(f"$ {said}\n{out[-200000:]}{err[-50000:]}\n")


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        "%Y-%m-%d %H:%M UTC")
