"""Section "batch": a step of rows of different sequences."""
import json
import tempfile

from bench_common import report
from bench_common.peer import require_program, run, version_of
from bench_common.report import Target, table

from . import models
from .models import Pairs

PROMPT, GENERATE = 16, 48
ROWS = (1, 2, 4, 8, 16, 32, 64)
RATIO = 1.2


def together(path):
    """Seconds of a step while all requests generate, by the client's lines for
    each request."""
    requests = [json.loads(line) for line in open(path)]
    times = []
    for each in requests:
        at = each["started_ms"] + each["ttft_ms"]
        times.append([at])
        for gap in each["itl_ms"]:
            at += gap
            times[-1].append(at)
    begin, end = max(t[0] for t in times), min(t[-1] for t in times)
    tokens = sum(sum(begin < at <= end for at in t) for t in times)
    return (end - begin) / 1e3 / (tokens / len(requests))


def step_of(model, rows, folder):
    lines = f"{folder}/requests.json"
    run([model.program, "bench", "-t", models.THREADS, "--requests", rows,
         "--max-num-seqs", rows, "-c", PROMPT + GENERATE, "--prompt-tokens",
         PROMPT, "--output-tokens", GENERATE, "--warmup-requests", 1, "--json",
         "--save-requests", lines])
    return together(lines)


def peer_steps(peer, model):
    """{rows: seconds of a step}"""
    lines = run([peer, "-m", model.file, "-t", models.THREADS, "-tb",
                 models.THREADS, "-npp", PROMPT, "-ntg", GENERATE, "-npl",
                 ",".join(map(str, ROWS)), "-c",
                 max(ROWS) * (PROMPT + GENERATE), "--output-format", "jsonl"])
    rows = [json.loads(line) for line in lines.splitlines()
            if line.startswith("{")]
    return {row["pl"]: row["pl"] / row["speed_tg"] for row in rows}


def measure(args, peer, model):
    """{rows: Pairs of tokens a second}"""
    found = {rows: Pairs() for rows in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.repeats):
            theirs = peer_steps(peer, model)
            for rows, pairs in found.items():
                pairs.add(rows / step_of(model, rows, folder),
                          rows / theirs[rows])
                args.say(f"  {model.format}, {rows} rows: "
                         f"{pairs.runs[-1][0]:.1f} and "
                         f"{pairs.runs[-1][1]:.1f} tokens/s")
    return found


def section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-batched-bench", args.llama_bin)
    cells, targets, steps = [], [], {}
    for fmt in args.formats:
        found = measure(args, peer, models.prepare(args, fmt))
        steps[fmt] = [1e3 * rows / pairs.ours()
                      for rows, pairs in found.items()]
        for (rows, pairs), step in zip(found.items(), steps[fmt]):
            cells.append([fmt, rows, *pairs.cells(), f"{step:.1f}"])
            if rows > 1:
                targets.append(Target(
                    f"{fmt}, {rows} rows, by llama-batched-bench's",
                    f"{pairs.ratio():.3f}", f"at least {RATIO}",
                    pairs.ratio() >= RATIO))
    text = f"""So many requests at once, with prompts of {PROMPT} tokens and \
{GENERATE} generated (`bench` in the process; `llama-batched-bench`, llama.cpp \
{version_of(peer)}), by turns, {args.repeats} runs. Tokens a second are \
those of all requests while all of them generate.

{table(["format", "rows", "Sluice tok/s", "llama.cpp tok/s", "ratio",
        "Sluice ms a step"], cells)}
![](cpu-steps.svg)"""
    return text, targets, {"cpu-steps.svg": report.lines(
        "A step by its rows", "rows", "ms", ROWS, steps)}
