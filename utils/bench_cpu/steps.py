"""Section "steps": how long steps are by their rows, as the cost model is told of
it, and what it says of others."""
import functools
import json
import os
import statistics

from bench_common import report
from bench_common.processes import run
from bench_common.report import Target, percent, table

from . import models

# Rows of steps that the cost model is told of: StepTimes::rowCounts of the runtime,
# which `steps` measures unless told. And of others; sluice-sim predicts all of them.
FITTED = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64)
HELD_OUT = (5, 7, 10, 14, 24, 48)
TURNS = 21
CONTEXT = 32  # positions that each row attends to
ERROR = 0.1

# models.SHAPE, as in utils/clusters/models.yaml.
DESCRIPTION = """\
# This machine, by steps that utils/bench-cpu measured on it with {threads} threads.
target: {name}
models:
  - name: {name}
    layers: 22
    hidden: 2048
    feed_forward: 5632
    heads: 32
    kv_heads: 4
    head_dim: 64
    vocab: 32000
    bits_per_weight: {bits:.4f}
nodes:
  - name: here
    devices:
      - kind: cpu
        memory: {memory} B
        bandwidth: {read:.2f} GB/s
        flops: {flops:.1f} GFLOP/s
        steps:
          model: {name}
          context: {context}
          times:
{times}
"""


def one_run(model, rows):
    """{rows: seconds of a step}"""
    told = json.loads(run([
        model.program, "steps", "-t", models.THREADS, "-c", CONTEXT, "--rows",
        ",".join(map(str, rows)), "--repeats", TURNS, "--json"]))
    return models.whole({each["rows"]: each["median_seconds"]
                         for each in told["steps"]}, rows, model.program)


def describe(model, limits, steps):
    times = "\n".join(f"            - {{rows: {rows}, time: {1e6 * each:.0f} us}}"
                      for rows, each in sorted(steps.items()))
    return DESCRIPTION.format(
        name=model.file.stem, threads=limits.threads,
        bits=8 * model.step_bytes / model.parameters,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        # Products are as long as the steps say; attention is of floats.
        read=limits.read() / 1e9, flops=limits.operations("fma") / 1e9,
        context=CONTEXT, times=times)


def predict(args, model, limits, steps):
    """Seconds of steps by rows, of which the cost model is told FITTED. The
    description stays beside the model."""
    file = args.work / f"steps-{model.format}-{model.isa}.yaml"
    file.write_text(describe(model, limits,
                             {rows: steps[rows] for rows in FITTED}))
    told = json.loads(run([
        args.tools / "sluice-sim", file, "--stages", 1, "--context", CONTEXT,
        "--prompt-tokens", 1, "--tokens", 1, "--json"]))
    return models.whole({int(rows): seconds for rows, seconds in told[
        "prediction"]["stages"][0]["step_seconds"].items()}, HELD_OUT, "sluice-sim")


def measure(args, model, limits):
    """{rows: seconds of a step in each run}"""
    steps = {rows: [] for rows in sorted(FITTED + HELD_OUT)}
    for _ in range(args.repeats):
        limits.measure("read")
        limits.measure("fma")
        for rows, seconds in one_run(model, steps).items():
            steps[rows].append(seconds)
        args.say(f"  {model.format}: " + ", ".join(
            f"{1e3 * kept[-1]:.1f}" for kept in steps.values()) + " ms")
    return steps


def medians(steps):
    return {rows: statistics.median(kept) for rows, kept in steps.items()}


def predictions(args, model, limits, steps):
    """Rows of a table, and targets, of steps that the cost model is not told of.
    Each run's are predicted from the others of that run, as all steps are slower
    together where memory is."""
    fmt, cells, targets = model.format, [], []
    predicted_by = functools.partial(predict, args, model, limits)
    runs = [predicted_by(dict(zip(steps, run))) for run in zip(*steps.values())]
    predicted_by(medians(steps))  # The last description is the one that stays.
    for rows in HELD_OUT:
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


def curves(formats, steps):
    """Rows of a table: milliseconds of a step, in a column for each format."""
    return [[rows, *(f"{1e3 * medians(steps[fmt])[rows]:.1f}" for fmt in formats)]
            for rows in steps[formats[0]]]


def section(args):
    """(text, targets, pictures)"""
    predicted, targets, steps = [], [], {}
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        limits = models.Limits(args, model)
        steps[fmt] = measure(args, model, limits)
        cells, wanted = predictions(args, model, limits, steps[fmt])
        predicted += cells
        targets += wanted
    fitted = ", ".join(map(str, FITTED))
    text = f"""Milliseconds of steps of so many requests' rows (`steps`, which has row \
counts take turns: medians of {TURNS} in each run), medians of {args.repeats} runs. \
Memory changes in between, so they are not to be compared with other sections' steps:

{table(["rows", *args.formats], curves(args.formats, steps))}
![](cpu-steps-{args.isa}.svg)

What the [cost model](../Clusters.md#measured-steps) says of some of them \
({CONTEXT} positions), told of the others ({fitted}) of the same run; medians, of the \
errors' sizes too, with the least and the most error in parentheses:

{table(["format", "rows", "measured ms", "predicted ms", "error"],
       predicted)}"""
    return text, targets, {f"cpu-steps-{args.isa}.svg": report.lines(
        "A step by its rows", "rows", "ms", list(steps[args.formats[0]]),
        {fmt: [1e3 * each for each in medians(found).values()]
         for fmt, found in steps.items()})}
