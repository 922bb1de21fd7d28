"""Section "virtual": Flover's tables under a virtual clock.

Flover (arXiv 2305.13484): requests that arrive at any time share each step of
token generation. Steps and how many requests share them hang on the arrivals
alone, so that a virtual clock can check them, and a few lines of Python.
"""
import concurrent.futures
import json
import os
import statistics

from bench_common.processes import run
from bench_common.report import Target, bars, percent, table

# One request of 512 tokens takes 5,800 ms.
TOKENS = 512
STEP_NS = 5_800_000_000 // TOKENS
REQUESTS = 32

# Steps in all, mean requests in a step by all, gain over FasterTransformer.
POISSON = {20: (557, 91.3, 11.2), 50: (616, 81.8, 11.1), 100: (748, 67.3, 10.2),
           200: (911, 60.3, 9.1), 500: (1537, 31.0, 6.5),
           1000: (2621, 20.0, 4.2), 2000: (5483, 9.3, 2.1),
           5000: (10694, 4.8, 1.1)}

# Seconds for so many requests, one each 500 ms; gain over FasterTransformer with
# an instance for each request, at 32.
COUNTS = (1, 2, 4, 8, 16, 32)
FIXED = {"GPT-J 6B, 1 GPU": ((5.6, 6.1, 7.1, 9.2, 13.2, 21.2), 10.9),
         "LLaMA 13B, 1 GPU": ((9.1, 9.6, 10.6, 12.7, 16.9, 24.9), 11.7),
         "LLaMA 33B, 2 GPUs": ((13.6, 14.1, 15.6, 17.7, 21.9, 30.3), 13.4),
         "LLaMA 65B, 4 GPUs": ((10.8, 11.4, 12.5, 14.4, 18.7, 27.2), 16.7)}
INTERVAL = 0.5

# Time without reordering by the time with it; lengths are uniform from 128 to
# these. The paper names the first and the last.
REORDERING = {256: 1.29, 384: 1.31, 512: 1.30, 768: 1.42, 1024: 1.60,
              1280: 1.56, 1536: 1.78, 1792: 1.93}


def fused_steps(arrivals, lengths, step):
    """How many requests each step serves: a newcomer joins at the next step, and
    who has all its tokens costs no further one. Independent of Sluice."""
    waiting = sorted(zip(arrivals, lengths))
    running, steps, now = [], [], 0
    while waiting or running:
        if not running:
            now = max(now, waiting[0][0])
        while waiting and waiting[0][0] <= now:
            running.append(waiting.pop(0)[1])
        steps.append(len(running))
        now += step
        running = [left - 1 for left in running if left > 1]
    return steps


def overlap(steps, requests):
    return sum(steps) / len(steps) / requests if steps else 0


def rows_without_reordering(lengths):
    """Of requests that come all at once: rows computed where the slots up to the
    highest that lives have to be, where all of them have to be until the last
    request is done, and the living ones."""
    slots = 0
    for step in range(max(lengths)):
        left = [i for i, length in enumerate(lengths) if length > step]
        slots += left[-1] + 1
    return slots, max(lengths) * len(lengths), sum(lengths)


class Simulator:
    """sluice-sim with steps of given times, and a head that takes none."""

    def __init__(self, tool):
        self.tool = tool
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    def run(self, options):
        command = [self.tool, "--json", "--head-us", 0, "--wake-us", 0,
                   "--prompt-tokens", 8, "--context", 4096, *options]
        return json.loads(run(command))

    def map(self, commands):
        return list(self.pool.map(self.run, commands))


# Poisson arrivals -------------------------------------------------------------

def poisson(simulator, seeds):
    rows, targets, equal, groups = [], [], 0, {}
    for interval, paper in POISSON.items():
        runs = simulator.map([
            ["--step-us", STEP_NS / 1000, "--requests", REQUESTS, "--arrival",
             "poisson", "--mean-interval-ms", interval, "--output-tokens",
             TOKENS, "--seed", seed + 1] for seed in range(seeds)])
        for run in runs:
            asked = run["per_request"]
            wanted = fused_steps([each["arrival_ns"] for each in asked],
                                 [TOKENS] * REQUESTS, STEP_NS)
            equal += (run["step_outputs"] == wanted and
                      abs(run["overlap"] - overlap(wanted, REQUESTS)) < 1e-9)
        steps = [run["steps"] for run in runs]
        shares = [run["overlap"] for run in runs]
        groups[str(interval)] = [paper[1], 100 * statistics.mean(shares)]
        rows.append([interval, f"{statistics.mean(steps):.0f}",
                     f"{min(steps)} to {max(steps)}", paper[0],
                     percent(statistics.mean(shares)), f"{paper[1]} %"])
    runs = seeds * len(POISSON)
    targets.append(Target("Poisson arrivals: steps, and requests in each, as "
                          "calculated", f"{equal} of {runs} runs", "all",
                          equal == runs))
    text = table(["mean interval ms", "steps, mean", "least to most",
                  "paper's steps", "overlap", "paper's overlap"], rows)
    picture = bars("Requests that share a step, % of 32", "%", groups,
                   ["the paper's trace", f"mean of {seeds}"])
    return text, targets, {"fusion-poisson.svg": picture}


# One each 500 ms --------------------------------------------------------------

def slope_of(wanted, seconds):
    """What each more row adds to a step, as a share of one, so that
    seconds(slope) is what is wanted; 0 where no row may cost anything."""
    low, high = 0, 1
    if seconds(low) >= wanted:
        return low
    for _ in range(20):
        middle = (low + high) / 2
        low, high = ((middle, high) if seconds(middle) < wanted else
                     (low, middle))
    return low


def fixed_command(alone, slope, count):
    """For a request that takes so many seconds alone."""
    base = alone / TOKENS * 1e6
    return ["--step-us", f"{base:.4f}:{base * slope:.4f}", "--requests", count,
            "--arrival", "fixed", "--mean-interval-ms", 1000 * INTERVAL,
            "--output-tokens", TOKENS]


def paper_slope(simulator, seconds):
    """By the paper's times for one request and for 16."""
    return slope_of(seconds[COUNTS.index(16)], lambda slope: simulator.run(
        fixed_command(seconds[0], slope, 16))["makespan_seconds"])


def fixed(simulator):
    rows, targets, gains, groups = [], [], [], {}
    for model, (seconds, paper_gain) in FIXED.items():
        base = seconds[0] / TOKENS * 1e6
        slope = paper_slope(simulator, seconds)
        runs = simulator.map([fixed_command(seconds[0], slope, count)
                              for count in COUNTS])
        ours = [run["makespan_seconds"] for run in runs]
        last = (COUNTS[-1] - 1) * INTERVAL
        overhead = (ours[-1] - last) / ours[0]
        theirs = (seconds[-1] - last) / seconds[0]
        serial = COUNTS[-1] * seconds[0]
        # FasterTransformer's instances take this long by the paper.
        instances = paper_gain * seconds[-1]
        rows.append([model, f"{base / 1000:.2f}", percent(slope, 2),
                     " ".join(f"{each:.1f}" for each in ours),
                     " ".join(map(str, seconds)), f"{overhead:.3f}",
                     f"{theirs:.3f}"])
        gains.append([model, f"{serial / ours[-1]:.1f}",
                      f"{serial / (last + seconds[0]):.1f}",
                      f"{instances / ours[-1]:.1f}", paper_gain])
        groups[model] = [serial / ours[-1], instances / ours[-1], paper_gain]
        targets.append(Target(
            f"{model}: fused-step overhead at 32", f"{overhead:.3f}",
            "at most 1.02", overhead <= 1.02,
            f"of the paper's own steps, which give it {theirs:.3f}"))
    best = max(groups.values(), key=lambda gain: gain[1])
    targets.append(Target("gain over an instance for each request, at 32, best "
                          "model", f"{best[1]:.1f}", "16.7",
                          best[1] >= 16.7 - 0.05,
                          "the paper's time of the instances by the time of "
                          "its steps, shared as here"))
    text = table(["model", "step ms", "a row more", "seconds for "
                  + " / ".join(map(str, COUNTS)), "paper's", "overhead at 32",
                  "paper's"], rows)
    text += ("\nThe gain at 32 requests, over one after the other at the "
             "device's full rate (and the most that can be: the last comes "
             "after 15.5 s), and over the paper's time of FasterTransformer "
             "with an instance for each, which contend:\n\n")
    text += table(["model", "over one after the other", "at most",
                   "over instances", "paper's"], gains)
    picture = bars("Gain at 32 requests, one each 500 ms", "times",
                   {name.replace(" 1 GPU", " 1"): gain
                    for name, gain in groups.items()},
                   ["over serial", "over instances", "paper's"])
    return text, targets, {"fusion-fixed.svg": picture}


# Reordering -------------------------------------------------------------------

def reordering(simulator, seeds):
    seconds, _ = FIXED["GPT-J 6B, 1 GPU"]
    base = seconds[0] / TOKENS * 1e6
    kinds = {"its slope": paper_slope(simulator, seconds), "rows only": None}
    rows, targets, points = [], [], 0
    for upper, paper in REORDERING.items():
        gains, slots, batches = {}, [], []
        for kind, slope in kinds.items():
            # A step of nothing but rows: what reordering can gain at most.
            steps = (f"{base:.4f}:{base * slope:.4f}" if slope is not None
                     else f"{base:.4f}:{base:.4f}")
            common = ["--step-us", steps, "--requests", 16, "--output-tokens",
                      f"uniform:128:{upper}"]
            with_it = simulator.map([common + ["--seed", seed + 1]
                                     for seed in range(seeds)])
            without = simulator.map([common + ["--seed", seed + 1,
                                               "--no-reorder"]
                                     for seed in range(seeds)])
            gains[kind] = statistics.mean(
                b["makespan_seconds"] / a["makespan_seconds"]
                for a, b in zip(with_it, without))
            for run in with_it:
                lengths = [each["output_tokens"] for each in
                           run["per_request"]]
                below, batch, living = rows_without_reordering(lengths)
                slots.append(below / living)
                batches.append(batch / living)
        bound, batch = statistics.mean(slots), statistics.mean(batches)
        # The first of requests that come at once has a step before the others.
        points += abs(gains["rows only"] / bound - 1) <= 0.01
        rows.append([upper, f"{gains['its slope']:.2f}",
                     f"{gains['rows only']:.2f}", f"{bound:.2f}",
                     f"{batch:.2f}", paper])
    targets.append(Target("what reordering gains where rows are all: the rows "
                          "that are not computed, within 1 %",
                          f"{points} of {len(rows)} points", "all",
                          points == len(rows)))
    text = table(["longest", "gain, GPT-J's steps", "gain, rows are all",
                  "bound: rows below the highest by living ones",
                  "rows of the whole batch by living ones", "paper's"], rows)
    return text, targets, {}


def section(bench):
    """(text, targets, pictures)"""
    simulator = Simulator(bench.tools / "sluice-sim")
    text = f"""A virtual clock, `sluice-sim` with the head and the scheduler that \
serve; steps take what is said, links and the head nothing.

### Poisson arrivals

{REQUESTS} requests of {TOKENS} tokens behind prompts of 8; one alone takes \
{STEP_NS * TOKENS / 1e9:g} s, so a step {STEP_NS / 1e6:.3f} ms, however many \
share it. A prompt's step is the first of a request's {TOKENS}: it gives the \
first token, and is shared as any other. Means over {bench.seeds} seeds; the paper's \
row is one trace, whose gaps were shorter than their means. In each run the \
steps, one by one, equal those that a few lines of Python make of the same \
arrivals (`fused_steps` in utils/bench_fusion/virtual.py).

"""
    body, targets, pictures = poisson(simulator, bench.seeds)
    text += body + "\n![](fusion-poisson.svg)\n"
    body, more, drawn = fixed(simulator)
    targets += more
    pictures |= drawn
    text += """
### One request each 500 ms

Steps as the paper measured them: one request's time by its 512 steps, and for \
each more row in a step what makes 16 requests take the paper's time (its \
figures have two or three digits, so a step is known within 1 %). Overhead: \
(seconds for 32 - 15.5) by seconds for 1. What a row adds to a step is the \
paper's device's; what is checked here is that the schedule adds nothing to it: \
no step more, no row more. A device whose step with 32 rows takes 1.02 of one \
with a row has an overhead of 1.02.

""" + body + "\n![](fusion-fixed.svg)\n"
    body, more, drawn = reordering(simulator, min(20, bench.seeds))
    targets += more
    pictures |= drawn
    text += """
### Reordering

16 requests at once, with lengths uniform from 128 to the longest: time without \
reordering by the time with it. Without, the slots up to the highest that lives \
are computed. Here rows leave at every step and newcomers take free slots, so \
there is no run without it but in the simulator's step times: the baseline \
without it is the figure. With steps that cost about the same for any rows (as \
the paper's own do in the table above) there is little to gain; where a row \
costs as much as a step, what is gained is the rows that are not computed. Means \
over up to 20 seeds. The paper's baseline is nearer to computing the whole batch \
until its last request is done; what it reports beyond that is not the rows' \
alone: its rows also attend to ever longer texts. (Its first and last lengths \
are known here; those between are assumed.)

""" + body
    return text, targets, pictures
