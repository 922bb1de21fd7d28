"""Section "served": many requests at once, beside llama-server."""
import pathlib
import tempfile

from bench_common import serving
from bench_common.peer import require_program
from bench_common.report import Target, bars, table
from bench_common.serving import PEER, RATE, SLUICE

from . import models

# In flight, and requests in all: enough that most of the time so many are.
LOADS = ((1, 16), (4, 32), (16, 64), (64, 192))
RATIO = 1.2


def targets_of(what, turns):
    ratio = turns.ratio(RATE)
    yield Target(f"{what}: throughput by llama-server's", f"{ratio:.3f}",
                 f"at least {RATIO}", ratio >= RATIO)
    for name, key in (("median", "p50"), ("p99", "p99")):
        ratio = turns.ratio("itl_ms", key)
        yield Target(f"{what}: {name} between tokens by llama-server's",
                     f"{ratio:.3f}", "below 1", ratio < 1)


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-server", args.llama_bin)
    fmt = args.formats[0]
    model = models.prepare(args, fmt)
    rows, targets, groups = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        servers = serving.Servers(model.file, model.program, peer, args.tools,
                                  pathlib.Path(folder))
        for flight, requests in LOADS:
            load = serving.in_flight(flight, requests)
            turns = serving.by_turns(servers, load, args.repeats, args.say)
            groups[load[0]] = turns.medians(RATE)
            rows.append([flight, turns.cell(RATE, digits=1),
                         f"{turns.ratio(RATE):.2f}",
                         *(turns.cell(of, key, digits=1)
                           for of in ("itl_ms", "ttft_ms")
                           for key in ("p50", "p99"))])
            targets += targets_of(load[0], turns)
    text = f"""{models.SHAPE} with random weights, {fmt}, \
{serving.described(args.peer, args.repeats)} {", ".join(str(n) for _, n in LOADS)} \
requests in all. Prompts of 16 to 128 tokens, answers of 32 to 96, uniform. The first figure is Sluice's, the second \
llama-server's; ITL is the time between two tokens, TTFT that to the first. \
Sluice keeps its steps short for those who wait for their next token \
(`--max-itl-ms`, 200 unless told): where a step of everyone's rows is as long as \
that, prompts get little of it, and first tokens come late. As many answers are in \
flight at any time, so that a whole one comes sooner by as much as the ratio is.

{table(["in flight", "tokens/s", "ratio", "ITL p50 ms", "ITL p99 ms",
        "TTFT p50 ms", "TTFT p99 ms"], rows)}
![](cpu-served-{args.isa}.svg)"""
    return text, targets, {f"cpu-served-{args.isa}.svg": bars(
        "Tokens a second, served", "tokens/s", groups, [SLUICE, PEER])}
