"""Section "threads": one request by one thread and by two, and their waiting."""
import functools
import json
import statistics
import tempfile

from bench_common.peer import require_program
from bench_common.processes import run
from bench_common.report import table

from . import models
from .models import Pairs

COUNTS = (1, 2)
PROMPT, GENERATE = 512, 64


def generated(model, threads, options=()):
    """Tokens a second of a prompt, and of a request that generates."""
    return (models.generate(model, PROMPT, 1, threads, options)[0],
            models.generate(model, 1, GENERATE + 1, threads, options)[1])


def measure(args, peer, model):
    """{threads: (Pairs of prompts, Pairs of generating)}, tokens a second"""
    found = {threads: (Pairs(), Pairs()) for threads in COUNTS}
    for turn in range(args.repeats):
        for threads, (prompts, rows) in found.items():
            (prompt, row), theirs = models.by_turns(
                turn, functools.partial(generated, model, threads),
                functools.partial(models.llama_bench, peer, model, threads,
                                  [PROMPT], GENERATE))
            prompts.add(prompt, theirs[PROMPT, 0])
            rows.add(row, theirs[0, GENERATE])
            args.say(f"  {model.format}, {threads} threads: {prompt:.1f} and "
                     f"{row:.1f} tokens/s")
    return found


def scaling(pairs, one):
    """Of Sluice, by one thread of the same turn."""
    ratios = (a / b for (a, _), (b, _) in zip(pairs.runs, one.runs))
    return f"{statistics.median(ratios):.2f}"


def pinning(args, model):
    """(Pairs of prompts, Pairs of generating): pinned threads and threads that
    the kernel moves, and who is first, by turns."""
    prompts, rows = Pairs(), Pairs()
    for turn in range(args.repeats):
        pinned, moved = models.by_turns(
            turn, *(functools.partial(generated, model, models.THREADS,
                                      ("--cpu-pin", pin))
                    for pin in ("on", "off")))
        prompts.add(pinned[0], moved[0])
        rows.add(pinned[1], moved[1])
    return prompts, rows


def waits(model, threads, repeats):
    """(barriers of a step, the same in all runs; share of the steps' time that a
    thread waited, the runs' median)"""
    with tempfile.TemporaryDirectory() as folder:
        stages = [json.loads(run([
            model.program, "generate", "--ignore-eos", "--json", "-t", threads,
            "-c", 1 + GENERATE, "--tokens", "5", "-n", GENERATE, "--trace",
            f"{folder}/trace.json"]))["stages"][0] for _ in range(repeats)]
    return (stages[0]["barriers"] / stages[0]["steps"],
            statistics.median(stage["wait_seconds"] / stage["busy_seconds"]
                              for stage in stages))


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-bench", args.llama_bin)
    cells, pinned = [], []
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        layers = json.loads(run([model.program, "info", "--json"]))["layers"]
        found = measure(args, peer, model)
        for threads, (prompts, rows) in found.items():
            barriers, waited = waits(model, threads, args.repeats)
            cells.append([
                fmt, threads, *prompts.cells(), scaling(prompts, found[1][0]),
                *rows.cells(), scaling(rows, found[1][1]),
                f"{barriers / layers:.1f}", f"{100 * waited:.1f} %"])
        prompts, rows = pinning(args, model)
        pinned.append([fmt, *prompts.cells(), *rows.cells()])
    text = f"""A prompt of {PROMPT} tokens, and {GENERATE} tokens generated, by so \
many threads; Sluice and `llama-bench` (llama.cpp {args.peer}) by turns, \
{args.repeats} runs, medians. {models.RATIOS} *Scaling* is by one thread of the same turn, \
its median. *Barriers* are those \
of a generated token for each layer, the step's own among them, and *waiting* the \
part of its time that a thread waits in them, the median of as many runs with a trace.

{table(["format", "threads", "prompt tok/s", "llama.cpp tok/s", "ratio",
        "scaling", "generation tok/s", "llama.cpp tok/s", "ratio", "scaling",
        "barriers", "waiting"], cells)}
Threads that are pinned to cores and threads that the kernel moves (`--cpu-pin`), \
{models.THREADS} of them, by turns:

{table(["format", "prompt tok/s, pinned", "moved", "ratio",
        "generation tok/s, pinned", "moved", "ratio"], pinned)}"""
    return text, [], {}
