"""How long steps are by their rows, as the cost model is told of it, and what it
says of others."""
import json
import os

from bench_common.processes import run

from . import models

# Rows of steps that the cost model is told of, and of others.
FITTED = (1, 2, 4, 8, 16, 32, 64)
HELD_OUT = (3, 6, 12, 24, 48)
TURNS = 21

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


def measure(model, rows, context):
    """Seconds of steps of rows that attend to `context` positions, by `rows`."""
    told = json.loads(run([
        model.program, "steps", "-t", models.THREADS, "-c", context, "--rows",
        ",".join(map(str, rows)), "--repeats", TURNS, "--json"]))
    return models.whole({each["rows"]: each["median_seconds"]
                         for each in told["steps"]}, rows, model.program)


def describe(model, limits, context, steps):
    times = "\n".join(f"            - {{rows: {rows}, time: {1e6 * each:.0f} us}}"
                      for rows, each in sorted(steps.items()))
    return DESCRIPTION.format(
        name=model.file.stem, threads=limits.threads,
        bits=8 * model.step_bytes / model.parameters,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        # Products are as long as the steps say; attention is of floats.
        read=limits.read() / 1e9, flops=limits.operations("fma") / 1e9,
        context=context, times=times)


def predict(args, model, limits, context, steps):
    """Seconds of steps by rows, of which the cost model is told FITTED. The
    description stays beside the model."""
    file = args.work / f"steps-{model.format}-{model.isa}.yaml"
    file.write_text(describe(model, limits, context,
                             {rows: steps[rows] for rows in FITTED}))
    told = json.loads(run([
        args.tools / "sluice-sim", file, "--stages", 1, "--context", context,
        "--prompt-tokens", 1, "--tokens", 1, "--json"]))
    return {int(rows): seconds for rows, seconds in
            told["prediction"]["stages"][0]["step_seconds"].items()}
