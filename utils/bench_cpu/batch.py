"""Section "batch": a step of rows of different sequences."""
import functools
import json
import statistics
import tempfile

from bench_common import report, serving
from bench_common.peer import require_program
from bench_common.processes import fail, run
from bench_common.report import Target, percent, table

from . import curve, models
from .models import Pairs

PROMPT, GENERATE = 16, 32
ROOM = 512  # tokens of a request, and so many of prompts in a step at most
ROWS = curve.FITTED
CONTEXT = PROMPT + GENERATE // 2  # in the middle of what is generated
RATIO, ERROR = 1.2, 0.1


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
    _, requests = serving.bench(model.program, [
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


def measure(args, peer, model, limits):
    """{rows: Pairs of tokens a second}, {rows: Sluice's seconds of a step by
    itself in each run}."""
    found = {rows: Pairs() for rows in ROWS}
    steps = {rows: [] for rows in sorted(ROWS + curve.HELD_OUT)}
    with tempfile.TemporaryDirectory() as folder:
        step = functools.partial(served_step, model, folder)
        for turn in range(args.repeats):
            limits.measure("read")
            limits.measure("fma")
            for rows, seconds in curve.measure(model, steps, CONTEXT).items():
                steps[rows].append(seconds)
            for rows, pairs in found.items():
                ours, theirs = models.by_turns(
                    turn, functools.partial(step, rows),
                    functools.partial(peer_step, peer, model, rows))
                pairs.add(rows / ours, rows / theirs)
                args.say(f"  {model.format}, {rows} rows: {rows / ours:.1f} and "
                         f"{rows / theirs:.1f} tokens/s")
    return found, steps


def medians(steps):
    return {rows: statistics.median(kept) for rows, kept in steps.items()}


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


def curves(formats, steps, served):
    """Rows of a table: milliseconds of a step, by itself and as it was served, in a
    column for each format."""
    def cell(fmt, rows):
        alone = f"{1e3 * medians(steps[fmt])[rows]:.1f}"
        pairs = served[fmt].get(rows)
        return alone + (f" / {1e3 * rows / pairs.ours():.1f}" if pairs else "")
    return [[rows, *(cell(fmt, rows) for fmt in formats)]
            for rows in steps[formats[0]]]


def predictions(args, model, limits, steps):
    """Likewise, of steps that the cost model was not told of. Each run's are
    predicted from the others of that run, as all steps are slower together where
    memory is."""
    fmt, cells, targets = model.format, [], []
    predict = functools.partial(curve.predict, args, model, limits, CONTEXT)
    runs = [predict(dict(zip(steps, run))) for run in zip(*steps.values())]
    predict(medians(steps))  # The last description is the one that stays.
    for rows in curve.HELD_OUT:
        predicted = [each[rows] for each in runs]
        errors = [a / b - 1 for a, b in zip(predicted, steps[rows])]
        # Of their sizes: else errors of both signs would make up for each other.
        error = statistics.median(map(abs, errors))
        cells.append([fmt, rows, f"{1e3 * medians(steps)[rows]:.1f}",
                      f"{1e3 * statistics.median(predicted):.1f}",
                      f"{100 * error:.1f} % ({100 * min(errors):+.1f} to "
                      f"{100 * max(errors):+.1f})"])
        targets.append(Target(
            f"{fmt}, step of {rows} rows, predicted by measured",
            f"{100 * error:.1f} %", f"within {percent(ERROR, 0)}",
            error <= ERROR))
    return cells, targets


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-batched-bench", args.llama_bin)
    compared, predicted, targets, steps, served = [], [], [], {}, {}
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        limits = models.Limits(args, model)
        served[fmt], steps[fmt] = measure(args, peer, model, limits)
        cells, wanted = ratios(fmt, served[fmt])
        compared += cells
        targets += wanted
        cells, wanted = predictions(args, model, limits, steps[fmt])
        predicted += cells
        targets += wanted
    told = ", ".join(map(str, curve.FITTED))
    text = f"""So many requests at once, with prompts of {PROMPT} tokens and \
{GENERATE} generated (`bench` in the process; `llama-batched-bench`, llama.cpp \
{args.peer}), by turns, {args.repeats} runs, medians. {models.RATIOS} Tokens a second are \
those of all requests while all of them generate.

{table(["format", "rows", "Sluice tok/s", "llama.cpp tok/s", "ratio"], compared)}
Milliseconds of steps by themselves (`steps`, which has row counts take turns: \
medians of {curve.TURNS} in each run), and of those that were served, above, at another \
moment:

{table(["rows", *args.formats], curves(args.formats, steps, served))}
![](cpu-steps-{args.isa}.svg)

What the [cost model](../Clusters.md#measured-steps) says of some of them \
({CONTEXT} positions), told of the others ({told}) of the same run; medians, of the \
errors' sizes too, with the least and the most error in parentheses:

{table(["format", "rows", "measured ms", "predicted ms", "error"],
       predicted)}"""
    return text, targets, {f"cpu-steps-{args.isa}.svg": report.lines(
        "A step by its rows", "rows", "ms", list(steps[args.formats[0]]),
        {fmt: [1e3 * each for each in medians(found).values()]
         for fmt, found in steps.items()})}
