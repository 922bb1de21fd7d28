"""Section "batch": a step of rows of different requests, as they are served."""
import functools
import json
import tempfile

from bench_common import serving
from bench_common.peer import require_program
from bench_common.processes import fail, run
from bench_common.report import Target, table

from . import models
from .models import Pairs

PROMPT, GENERATE = 16, 32
ROOM = 512  # tokens of a request, and so many of prompts in a step at most
ROWS = (1, 2, 4, 8, 16, 32, 64)
RATIO = 1.2


def together(requests):
    """Seconds of a step while all requests generate, by the client's lines for
    each request."""
    times = []
    for each in requests:
        at = each["started_ms"] + each["ttft_ms"]
        times.append([at])
        for gap in each["itl_ms"]:
            at += gap
            times[-1].append(at)
    begin, end = max(t[0] for t in times), min(t[-1] for t in times)
    tokens = sum(sum(begin < at <= end for at in t) for t in times)
    if not tokens:
        fail(f"of {len(requests)} requests the first ended before the last had "
             "begun to generate")
    return (end - begin) / 1e3 / (tokens / len(requests))


def served_step(model, folder, rows):
    """Seconds of a step of `rows` requests that are served."""
    # Prompts as fast as can be, so that all generate at the same time.
    _, requests = serving.bench([model.program, "bench"], [
        "-t", models.THREADS, "--requests", rows, "--max-num-seqs", rows, "-c",
        ROOM, "--prompt-tokens", PROMPT, "--output-tokens",
        GENERATE, "--warmup-requests", 1, "--max-itl-ms", 0],
        f"{folder}/requests.json")
    return together(requests)


def peer_step(peer, model, rows):
    """Seconds"""
    lines = run([peer, "-m", model.file, "-t", models.THREADS, "-tb",
                 models.THREADS, "-npp", PROMPT, "-ntg", GENERATE, "-npl", rows,
                 "-c", rows * (PROMPT + GENERATE), "--output-format", "jsonl"])
    found = [json.loads(line) for line in lines.splitlines()
             if line.startswith("{")]
    return models.whole({each["pl"]: each["pl"] / each["speed_tg"]
                         for each in found}, [rows], peer)[rows]


def measure(args, peer, model):
    """{rows: Pairs of tokens a second}"""
    found = {rows: Pairs() for rows in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        step = functools.partial(served_step, model, folder)
        for turn in range(args.repeats):
            for rows, pairs in found.items():
                ours, theirs = models.by_turns(
                    turn, functools.partial(step, rows),
                    functools.partial(peer_step, peer, model, rows))
                pairs.add(rows / ours, rows / theirs)
                args.say(f"  {model.format}, {rows} rows: {rows / ours:.1f} and "
                         f"{rows / theirs:.1f} tokens/s")
    return found


def ratios(fmt, found):
    """Rows of a table, and targets."""
    cells, targets = [], []
    for rows, pairs in found.items():
        cells.append([fmt, rows, *pairs.cells()])
        if rows > 1:
            targets.append(Target(
                f"{fmt}, {rows} rows, by llama-batched-bench's",
                f"{pairs.ratio():.3f}", f"at least {RATIO}",
                pairs.ratio() >= RATIO))
    return cells, targets


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-batched-bench", args.llama_bin)
    cells, targets = [], []
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        compared, wanted = ratios(fmt, measure(args, peer, model))
        cells += compared
        targets += wanted
    text = f"""So many requests at once, with prompts of {PROMPT} tokens and \
{GENERATE} generated (`bench` in the process; `llama-batched-bench`, llama.cpp \
{args.peer}), by turns, {args.repeats} runs, medians. {models.RATIOS} Tokens a second are \
those of all requests while all of them generate.

{table(["format", "rows", "Sluice tok/s", "llama.cpp tok/s", "ratio"], cells)}"""
    return text, targets, {}
