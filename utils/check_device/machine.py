"""Where parts run, and how: commands that end with their part's time."""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

# Where drivers are mounted into machines whose loader does not look there.
DRIVERS = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib")


def libraries():
    return ":".join([each for each in (os.environ.get("LD_LIBRARY_PATH"),)
                     if each] + [each for each in DRIVERS
                                 if os.path.isdir(each)])


class Failure(Exception):
    """A part has failed; the text is one line."""


class NotHere(Exception):
    """A part cannot run here; the text says what is missing."""


@dataclasses.dataclass
class Machine:
    """Where parts run, and what earlier parts have found."""
    carry: pathlib.Path
    report: pathlib.Path
    scratch: pathlib.Path  # gone at the end
    deadline: float = 0.0
    commands: list = dataclasses.field(default_factory=list)
    found: dict = dataclasses.field(default_factory=dict)
    kept: dict = dataclasses.field(default_factory=dict)  # not reported

    def program(self, name):
        path = self.carry / name
        if not path.is_file():
            raise NotHere(f"{name} was not carried")
        return str(path)

    def tool(self, name):
        for each in (shutil.which(name), f"/usr/local/cuda/bin/{name}"):
            if each and os.access(each, os.X_OK):
                return each
        raise NotHere(f"{name} is not installed")

    def run(self, *command, environment=None):
        """The command's standard output; it ends with the part's time."""
        words = [str(each) for each in command]
        self.commands.append(" ".join(words).replace(str(self.carry), "CARRY")
                             .replace(str(self.scratch), "SCRATCH"))
        # A session of its own, so that what it has started ends with it.
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
            env=dict(os.environ, LD_LIBRARY_PATH=libraries(),
                     **(environment or {})))
        try:
            out, err = process.communicate(
                timeout=max(1.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            try:
                out, err = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                out, err = "", ""  # in the kernel: it is left behind
            self.keep(words, out, err)
            raise TimeoutError(out) from None
        self.keep(words, out, err)
        if process.returncode != 0:
            said = (err.strip() or out.strip()).splitlines()
            raise Failure(f"status {process.returncode}: "
                          f"{said[-1] if said else 'nothing said'}", out)
        return out

    def keep(self, words, out, err):
        """All that was said, for whoever wants to know more."""
        with open(self.report / "output.txt", "a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(words)}\n{out[-100000:]}{err[-20000:]}\n")


def lines_of(text):
    """The JSON objects among the lines; the last may be cut off."""
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value
