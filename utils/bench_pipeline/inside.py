"""Sections on what happens inside: ablations, cancellation, traffic."""
import ctypes
import statistics
import time

from bench_common import report
from bench_common.report import Target, percent, table

from . import measure
from .measure import DEMO, STAGES, Measured, Point
from .speed import asynchronous

CLUSTER = "cpu8-1g"
LATENCY_MICROS = 500
LINK_MICROS = 60  # of a cancel on CLUSTER
# What a request sends besides its steps: that it is closed, and the end.
EXTRA_MESSAGES = 2

VARIANTS = {
    "all of it": (8, ()),
    "no cancellation": (8, ("--no-cancel",)),
    "not continuous": (8, ("--no-continuous",)),
    "no fusion": (8, ("--no-fuse",)),
    "no tree": (1, ()),
}


def ablation(bench):
    drafts = [(CLUSTER, 0.8), (CLUSTER, DEMO), ("gpu8-10g", 0.64),
              ("gpu8-10g", DEMO)]
    drafts = [d for d in drafts if d[0] in bench.args.clusters]
    points = {(c, d, name): Point(c, d, "async", 32, width, flags=flags)
              for c, d in drafts for name, (width, flags) in VARIANTS.items()}
    bench.measure(list(points.values()))
    rows, groups, targets = [], {}, []
    for cluster, draft in drafts:
        speeds = {name: bench.of(points[cluster, draft, name]).speed()
                  for name in VARIANTS}
        title = "demo pair" if draft == DEMO else f"oracle {draft:g}"
        whole = speeds["all of it"]
        rows.append([cluster, title, f"{whole:.2f}"] +
                    [f"{speeds[name]:.2f} ({speeds[name] / whole:.2f})"
                     for name in list(VARIANTS)[1:]])
        group = f"{cluster.split('-')[0]}, {title}"
        groups[group] = [speeds[name] / whole for name in VARIANTS]
        best = max(speeds, key=speeds.get)
        targets.append(Target(
            f"{cluster}, {title}: nothing is better left out",
            f"best: {best}, {speeds[best] / whole:.2f}", "at most 1.03",
            speeds[best] <= 1.03 * whole))
    picture = report.bars("What each part gives", "share of the whole's speed",
                          groups, list(VARIANTS))
    name = "pipeline-ablation.svg"
    text = f"""Tokens/s, and as a share of the whole:

{table(['cluster', 'draft', *VARIANTS], rows)}
![Speed without each part]({name})
"""
    return text, targets, {name: picture}


def long_run(bench, stages=STAGES):
    """One run of the demo pair, alone on the machine."""
    key = ("long", stages)
    if key not in bench.memo:
        point = asynchronous(CLUSTER, DEMO)
        bench.memo[key] = Measured([measure.run_json(
            bench.command(point, 0, bench.args.long_tokens, stages))])
    return bench.memo[key]


def lost_rows(measured):
    """Of the rows that entered a step of any stage: the share of guesses that
    died later and went through it, and that of those which left it."""
    run = measured.runs[0]
    useful = run["timing"]["prompt_tokens"] + len(run["tokens"]) - 1
    stages = measured.stages()[0]
    rows = sum(s["rows"] for s in stages)
    left = sum(s["left_at_checkpoints"] for s in stages)
    return max(0, rows - useful * len(stages)) / (rows + left), left / (
        rows + left)


def latencies(run):
    """A table of the ranks, and the worst one's p99."""
    rows = []
    for stage in [run["draft"], *run["stages"]]:
        latency = stage["cancel_latency_us"]
        rows.append([stage["rank"], stage["name"], stage["steps"],
                     stage["rows"], stage["left_at_checkpoints"],
                     stage["dropped_at_door"], latency["count"],
                     f"{latency['p50']:.0f}", f"{latency['p99']:.0f}",
                     f"{latency['max']:.0f}", LATENCY_MICROS])
    head = ["rank", "role", "steps", "rows", "left at a checkpoint",
            "dropped at the door", "cancels", "p50 us", "p99 us", "max us",
            "limit us"]
    return table(head, rows), max(s["cancel_latency_us"]["p99"]
                                  for s in [run["draft"], *run["stages"]])


def wake_up_micros():
    """How late a thread's timed wait of 500 us ends, in 99 of 100 cases."""
    set_timer_slack = 29
    ctypes.CDLL(None).prctl(set_timer_slack, 1000, 0, 0, 0)
    late = []
    for _ in range(4000):
        begin = time.monotonic()
        time.sleep(500e-6)
        late.append(1e6 * (time.monotonic() - begin) - 500)
    return statistics.quantiles(late, n=100)[98]


def cancellation(bench):
    wake = wake_up_micros()
    measured = long_run(bench)
    run = measured.runs[0]
    text, p99 = latencies(run)
    few_text, few_p99 = latencies(long_run(bench, 2).runs[0])
    counts = run["speculation"]
    whole, left = lost_rows(measured)
    share = counts["computed_dead"] / max(1, counts["launched"])
    text = f"""Demo pair on `{CLUSTER}`, {len(run['tokens'])} tokens, alone on \
the machine. From the head's decision to the dead rows having left the step: \
the cancel's way ({LINK_MICROS} us), the rest of a stretch, which is at most \
{LATENCY_MICROS} us, and two threads that wake up: the link's and the stage's. \
A timed wait alone on this machine ends up to {wake:.0f} us late (p99); here all \
ranks share the cores, and a cancel wakes all of them.

{text}
Of {counts['launched']:,} guesses {counts['accepted']:,} were accepted \
({percent(measured.acceptance())}) and {counts['cancelled']:,} cancelled; \
{counts['computed_dead']:,} of them came back computed \
({percent(share)} of all). Of the rows that entered a step of some stage, \
{percent(whole)} were guesses that died later and went through that step, \
{percent(left)} left it at a checkpoint.

The same in two stages:

{few_text}"""
    bound = LATENCY_MICROS + LINK_MICROS + 2 * wake
    wanted = (f"{LATENCY_MICROS} us, the link's {LINK_MICROS}, two wake-ups of "
              f"{wake:.0f}")
    return text, [
        Target("cancel latency, worst rank's p99, 8 stages", f"{p99:.0f} us",
               wanted, p99 <= bound, "9 ranks on this machine"),
        Target("cancel latency, worst rank's p99, 2 stages",
               f"{few_p99:.0f} us", wanted, few_p99 <= bound,
               "3 ranks on this machine")], {}


def traffic(bench):
    run = long_run(bench).runs[0]
    tokens = len(run["tokens"])
    stages = {s["rank"]: s for s in run["stages"]}
    epochs = run["speculation"]["epochs"]
    rows, one_each, cancels = [], True, True
    for hop in sorted(run["traffic"]["hops"], key=lambda h: (h["from"], h["to"])):
        sender = stages.get(hop["from"])
        steps = ""
        if sender and hop["messages"]:
            steps = sender["steps"] + sender["tombstones"]
            one_each &= hop["messages"] <= steps + EXTRA_MESSAGES
        cancels &= hop["control_messages"] <= epochs + 1
        rows.append([f"{hop['from']} to {hop['to']}", hop["messages"], steps,
                     f"{hop['messages'] / tokens:.2f}",
                     f"{hop['bytes'] / tokens:,.0f}",
                     hop["control_messages"],
                     f"{hop['control_bytes'] / tokens:,.0f}"])
    head = ["hop", "messages", "steps of the sender, with tombstones",
            "a token", "bytes a token", "cancels and end",
            "their bytes a token"]
    targets = [Target("data messages a step and hop", "at most one" if one_each
                      else "more", "at most one", one_each,
                      "and two for the request's and the job's end"),
               Target("cancels an epoch and rank", "at most one" if cancels
                      else "more", "at most one", cancels,
                      f"{epochs} epochs, and one message at the end")]
    return f"""The same run. Bytes are what the demo's rows of 256 f32 take; a \
row of llama-70b has 32 times as many. {epochs} epochs.

{table(head, rows)}""", targets, {}
