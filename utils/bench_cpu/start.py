"""Section "start": from a command to the first token, and memory."""
import dataclasses
import json
import os
import statistics
import subprocess
import tempfile
import time

from bench_common.peer import require_program
from bench_common.processes import fail, joined, run
from bench_common.report import Target, table

from . import models

CONTEXT = 512
START_RATIO, PACKING, MEMORY = 1.1, 1e9, 1.05
CLOCK = 1e-3  # seconds, to which a start is timed


@dataclasses.dataclass
class Run:
    """A command's seconds to its first output and to its end, and the bytes that
    it had resident at most."""
    output: float
    end: float
    resident: int


def timed(command):
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        running = subprocess.Popen(list(map(str, command)),
                                   stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=errors)
        with running.stdout:
            running.stdout.read(1)
            output = time.monotonic() - began
            running.stdout.read()
        _, status, usage = os.wait4(running.pid, 0)
        end = time.monotonic() - began
        running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode:
            errors.seek(0)
            fail(f"{joined(command)}: status {running.returncode}: "
                 + errors.read().strip()[-2000:])
    return Run(output, end, usage.ru_maxrss * 1024)


def disk_rate(folder, size):
    """Bytes a second at which a file of so many bytes gets to the disk."""
    block = os.urandom(8 << 20)
    path = folder / "disk.probe"
    try:
        with open(path, "wb", buffering=0) as file:
            began = time.monotonic()
            for at in range(0, size, len(block)):
                file.write(block[:size - at])
            os.fdatasync(file.fileno())
            return size / (time.monotonic() - began)
    finally:
        path.unlink(missing_ok=True)


def ours(model):
    return [model.program, "generate", "--tokens", "5", "-n", 1, "-t",
            models.THREADS, "-c", CONTEXT]


def theirs(peer, model):
    return [peer, "-m", model.file, "-t", models.THREADS, "-c", CONTEXT, "-n", 1,
            "-p", "a", "--no-warmup", "-no-cnv", "--ignore-eos"]


@dataclasses.dataclass
class Starts:
    """Medians of the first start of a model, of later ones, and of llama.cpp's; the
    ratio of the later ones' whole runs; the disk's bytes a second."""
    first: Run
    later: Run
    peer: Run
    ratio: float
    disk: float


def measure(args, peer, model):
    found, disk = {"first": [], "later": [], "peer": []}, []
    for turn in range(args.repeats):
        packed = model.program.with_name(model.program.name + ".weights")
        packed.unlink()
        found["first"].append(timed(ours(model)))
        later, other = models.by_turns(
            turn, lambda: timed(ours(model)), lambda: timed(theirs(peer, model)))
        found["later"].append(later)
        found["peer"].append(other)
        disk.append(disk_rate(packed.parent, packed.stat().st_size))
    middle = {name: Run(*(statistics.median(values) for values in
                          zip(*map(dataclasses.astuple, kept))))
              for name, kept in found.items()}
    ratio = statistics.median(a.end / b.end for a, b in
                              zip(found["later"], found["peer"]))
    return Starts(**middle, ratio=ratio, disk=statistics.median(disk))


def judged(fmt, starts, file_bytes, told):
    """A row of the table, and targets. `told`: bytes of weights and cache."""
    most = max(starts.first.resident, starts.later.resident)
    packing = file_bytes / max(starts.first.output - starts.later.output, CLOCK)
    cells = [fmt, f"{starts.later.end:.2f}", f"{starts.peer.end:.2f}",
             f"{starts.ratio:.2f}", f"{starts.first.output:.2f}",
             f"{packing / 1e9:.2f}", f"{starts.first.end:.2f}",
             f"{starts.disk / 1e9:.2f}", f"{told / 1e6:.0f}",
             f"{most / 1e6:.0f}", f"{starts.peer.resident / 1e6:.0f}"]
    return cells, [
        Target(f"{fmt}: first token, by llama.cpp's", f"{starts.ratio:.3f}",
               f"at most {START_RATIO}", starts.ratio <= START_RATIO),
        Target(f"{fmt}: packing, GB/s", f"{packing / 1e9:.2f}",
               f"at least {PACKING / 1e9:g}", packing >= PACKING),
        Target(f"{fmt}: resident at most, by weights and cache",
               f"{most / told:.3f}", f"at most {MEMORY}", most / told <= MEMORY)]


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-completion", args.llama_bin)
    rows, targets = [], []
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        starts = measure(args, peer, model)
        memory = json.loads(run([model.program, "info", "--json", "-c",
                                 CONTEXT]))["memory"]
        cells, wanted = judged(fmt, starts, model.file.stat().st_size,
                               memory["weights_bytes"] + memory["cache_bytes"])
        rows.append(cells)
        targets += wanted
    text = f"""From the start of the process to its end behind one token, for files \
that the system has in memory: seconds, medians of {args.repeats} runs by turns with \
`llama-completion` (llama.cpp {args.peer}, mapped file, no warm-up). The \
first start packs the weights: *token* is the time to its first output, and \
*packing* the file's bytes by what that takes longer than later. It ends, at *kept*, \
when the disk has them: *disk* is the rate of a file of that size that is written, \
and synced at its end. llama.cpp makes a copy of q4_0's and q4_k's weights in an order \
of its own at each start. \
*Told* is weights and cache for {CONTEXT} tokens; beside it the most that \
was resident, in either start.

{table(["format", "later s", "llama.cpp s", "ratio", "token s", "packing GB/s",
        "kept s", "disk GB/s", "told MB", "resident MB", "llama.cpp MB"], rows)}"""
    return text, targets, {}
