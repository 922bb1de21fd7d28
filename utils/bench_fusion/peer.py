"""Section "peer": serving beside llama-server, on the same file and threads, asked
by the same client."""
import pathlib
import statistics
import tempfile

from bench_common import serving
from bench_common.peer import random_model, require_program, version_of
from bench_common.report import Target, bars, table
from bench_common.serving import PEER, RATE, SLUICE, in_flight

SHAPE, FORMAT = "tinyllama-1.1b", "q4_0"
BOUNDED = "Sluice, bounded"

# In flight, and requests in all.
CLOSED = ((1, 4), (4, 16), (16, 48), (64, 96))
# More than either can serve: 256 tokens a second are asked for.
POISSON_REQUESTS, POISSON_MS, POISSON_SLOTS = 64, 250, 32

# Long prompts among running requests: (ms, tokens of the prompt, of the answer).
RUNNING = [(0, 32, 800)] * 4
LONG = [(ms, 2000, 8) for ms in (3000, 3500)]
LONG_CONTEXT = 2048
SHARE = 1.5  # of the undisturbed inter-token latency
BOUND = 1.35  # of its median: machines are not always equally fast


# Throughput -------------------------------------------------------------------

def loads():
    for flight, requests in CLOSED:
        yield in_flight(flight, requests)
    yield f"Poisson, {POISSON_MS} ms", POISSON_SLOTS, [
        "--requests", POISSON_REQUESTS, "--arrival", "poisson",
        "--mean-interval-ms", POISSON_MS, *serving.LENGTHS]


def throughput(servers, repeats, say):
    rows, targets, groups = [], [], {}
    for load in loads():
        what = load[0]
        turns = serving.by_turns(servers, load, repeats, say)
        ratio = turns.ratio(RATE)
        groups[what] = turns.medians(RATE)
        rows.append([what, turns.cell(RATE, digits=1), f"{ratio:.2f}",
                     turns.cell("ttft_ms", "p50"), turns.cell("ttft_ms", "p99"),
                     turns.cell("itl_ms", "p50"), turns.cell("itl_ms", "p99"),
                     turns.cell("e2e_ms", "p50")])
        targets.append(Target(f"{what}: throughput by llama-server's",
                              f"{ratio:.3f}", "at least 1.0", ratio >= 1.0))
    text = table(["load", "tokens/s", "ratio", "TTFT p50 ms", "p99",
                  "ITL p50 ms", "p99", "end to end p50 ms"], rows)
    return text, targets, {"fusion-peer.svg": bars(
        "Tokens a second, served", "tokens/s", groups, [SLUICE, PEER])}


# Long prompts among running requests ------------------------------------------

def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def gaps_of(requests):
    """Times between two tokens of those that run: (while no request with a long
    prompt does, while one does)."""
    longs = [(each["started_ms"], each["ended_ms"])
             for each in requests if each["prompt_tokens"] >= 1000]
    alone, among = [], []
    # The first tokens are made beside the other running requests' prompts.
    begin = max(each["started_ms"] + each["ttft_ms"] for each in requests
                if each["prompt_tokens"] < 1000)
    for each in requests:
        if each["prompt_tokens"] >= 1000:
            continue
        at = each["started_ms"] + each["ttft_ms"]
        for gap in each["itl_ms"]:
            before, at = at, at + gap
            if any(before < end and at > start for start, end in longs):
                among.append(gap)
            elif before > begin:
                alone.append(gap)
    return alone, among


def trace(folder, requests):
    path = folder / "trace.txt"
    path.write_text("".join(f"{ms},{prompt},{answer}\n"
                            for ms, prompt, answer in requests))
    return ["--trace-file", path, "--requests", len(requests)]


def long_prompts(servers, repeats, say):
    slots = len(RUNNING) + len(LONG)
    found = {name: [] for name in (SLUICE, BOUNDED, PEER)}
    for seed in range(repeats):
        bound = None
        for name, kept in found.items():
            _, requests = servers.measure(
                name, slots, LONG_CONTEXT, trace(servers.folder, RUNNING + LONG)
                + ["--seed", seed + 1], bound if name == BOUNDED else None)
            alone, among = gaps_of(requests)
            bound = bound or BOUND * percentile(alone, 0.5)
            kept.append({"bound": bound, "alone": percentile(alone, 0.99),
                         "among": percentile(among, 0.99), "most": max(among),
                         "middle": percentile(alone, 0.5),
                         "ttft": statistics.median(
                             each["ttft_ms"] for each in requests
                             if each["prompt_tokens"] >= 1000)})
            say(f"  {name}: p99 {kept[-1]['alone']:.0f} ms alone, "
                f"{kept[-1]['among']:.0f} ms among long prompts")
    rows = []
    for name, kept in found.items():
        middle = {key: statistics.median(run[key] for run in kept)
                  for key in kept[0]}
        share = statistics.median(run["among"] / run["alone"] for run in kept)
        rows.append([name, f"{middle['bound']:.0f}" if name == BOUNDED else "",
                     f"{middle['middle']:.0f}", f"{middle['alone']:.0f}",
                     f"{middle['among']:.0f}", f"{share:.2f}",
                     f"{middle['most']:.0f}", f"{middle['ttft'] / 1000:.1f}"])
    ratio = {name: statistics.median(
        ours["among"] / theirs["among"]
        for ours, theirs in zip(found[name], found[PEER]))
        for name in (SLUICE, BOUNDED)}
    targets = [Target(f"p99 between tokens among {LONG[0][1]}-token prompts, by "
                      "llama-server's", f"{of:.3f}", "below 1", of < 1, name)
               for name, of in ratio.items()]
    share = statistics.median(run["among"] / run["alone"]
                              for run in found[BOUNDED])
    targets.append(Target("the same, by the undisturbed one's", f"{share:.2f}",
                          f"at most {SHARE}", share <= SHARE, BOUNDED))
    return table(["server", "bound, ms", "p50 alone, ms", "p99 alone, ms",
                  "p99 among long prompts, ms", "ratio", "longest, ms",
                  "TTFT of long ones, s"], rows), targets


def section(bench):
    """(text, targets, pictures)"""
    peer = require_program("llama-server", bench.llama_bin)
    model, program = random_model(bench.work, SHAPE, FORMAT, bench.tools)
    with tempfile.TemporaryDirectory() as folder:
        servers = serving.Servers(model, program, peer, bench.tools,
                                  pathlib.Path(folder))
        rates, targets, pictures = throughput(servers, bench.repeats, bench.say)
        latencies, more = long_prompts(servers, bench.repeats, bench.say)
    text = f"""{SHAPE} with random weights, {FORMAT}, \
{serving.described(version_of(peer), bench.repeats)}

### Throughput

Prompts of 16 to 128 tokens, answers of 32 to 96, uniform; Poisson arrivals ask \
for more than either can serve. The first figure is Sluice's, the second \
llama-server's.

{rates}
![](fusion-peer.svg)

### Long prompts among running requests

{len(RUNNING)} requests of {RUNNING[0][2]} tokens run; after 3 s {len(LONG)} \
prompts of {LONG[0][1]} tokens come. Times between two tokens of those that run, \
*alone* while no long prompt is in the system, in the same run. *Bounded* is with \
`--max-itl-ms` at {BOUND} times the median alone: the long prompts pay for it.

{latencies}"""
    return text, targets + more, pictures
