"""Section "start": from a command to the first token, and memory."""
import dataclasses
import json
import os
import statistics
import subprocess
import time

from bench_common.peer import require_program, run
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
    began = time.monotonic()
    running = subprocess.Popen(list(map(str, command)),
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    with running.stdout:
        running.stdout.read(1)
        output = time.monotonic() - began
        running.stdout.read()
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"{command}: status {running.returncode}")
    return Run(output, time.monotonic() - began, usage.ru_maxrss * 1024)


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


def measure(args, peer, model):
    """Medians: of the first start, of later ones, of llama.cpp's; the ratio of
    the later ones' whole runs; the disk's bytes a second."""
    found, disk = {"first": [], "later": [], "peer": []}, []
    for _ in range(args.repeats):
        packed = model.program.with_name(model.program.name + ".weights")
        packed.unlink()
        found["first"].append(timed(ours(model)))
        found["later"].append(timed(ours(model)))
        found["peer"].append(timed(theirs(peer, model)))
        disk.append(disk_rate(packed.parent, packed.stat().st_size))
    middle = {name: Run(*(statistics.median(values) for values in
                          zip(*map(dataclasses.astuple, kept))))
              for name, kept in found.items()}
    ratio = statistics.median(a.end / b.end for a, b in
                              zip(found["later"], found["peer"]))
    return middle, ratio, statistics.median(disk)


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-completion", args.llama_bin)
    rows, targets = [], []
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        middle, ratio, disk = measure(args, peer, model)
        memory = json.loads(run([model.program, "info", "--json", "-c",
                                 CONTEXT]))["memory"]
        told = memory["weights_bytes"] + memory["cache_bytes"]
        first, later, other = (middle[name]
                               for name in ("first", "later", "peer"))
        most = max(first.resident, later.resident)
        packing = model.file.stat().st_size / max(first.output - later.output,
                                                  CLOCK)
        rows.append([fmt, f"{later.end:.2f}", f"{other.end:.2f}",
                     f"{ratio:.2f}", f"{first.output:.2f}",
                     f"{packing / 1e9:.2f}", f"{first.end:.2f}",
                     f"{disk / 1e9:.2f}", f"{told / 1e6:.0f}",
                     f"{most / 1e6:.0f}", f"{other.resident / 1e6:.0f}"])
        targets += [
            Target(f"{fmt}: first token, by llama.cpp's", f"{ratio:.3f}",
                   f"at most {START_RATIO}", ratio <= START_RATIO),
            Target(f"{fmt}: packing, GB/s", f"{packing / 1e9:.2f}",
                   f"at least {PACKING / 1e9:g}", packing >= PACKING),
            Target(f"{fmt}: resident at most, by weights and cache",
                   f"{most / told:.3f}", f"at most {MEMORY}",
                   most / told <= MEMORY)]
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
