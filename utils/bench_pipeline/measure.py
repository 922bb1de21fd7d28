"""Runs executables and the simulator, several at a time, each run once."""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import statistics
import time

from bench_common.processes import run
from bench_common.sections import say

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "build/models/demo"
CLUSTERS = ROOT / "utils/clusters"
STAGES = 8
# Oracles see a prompt of ones, because the simulator's requests have one.
ONES = ",".join(["1"] * 8)
PROMPTS = tuple(each["prompt"] for each in json.loads(
    (MODELS / "reference.json").read_text())["greedy"])
DEMO = "demo"
# Runs beside each other that come out so much slower than alone disturb.
MOST_DISTURBED = 0.01


@dataclasses.dataclass(frozen=True)
class Point:
    """One setting. `draft` is an oracle's acceptance, or DEMO."""
    cluster: str
    draft: object
    mode: str
    depth: int = 32
    width: int = 8
    split: bool = False
    flags: tuple = ()

    def settings(self):
        if self.mode == "async":
            return f"width {self.width}"
        return (f"chain of {self.depth}" if self.width == 1 else
                f"{self.depth} levels of {self.width}")

    def name(self):
        """All of it."""
        return " ".join([self.mode, "" if self.mode == "off" else
                         self.settings(), "in single rows" if self.split else
                         "", *self.flags])

    def chance(self):
        """Of the first candidate; the demo draft's is measured elsewhere."""
        return 0.64 if self.draft == DEMO else self.draft


class Measured:
    """The runs of a point, taken together."""

    def __init__(self, runs):
        self.runs = runs

    def seconds(self):
        return sum((len(r["tokens"]) - 1) / r["tokens_per_second"]
                   for r in self.runs)

    def speed(self):
        """Tokens after the first ones by their seconds, over all runs."""
        return sum(len(r["tokens"]) - 1 for r in self.runs) / self.seconds()

    def count(self, name):
        return sum(r["speculation"][name] for r in self.runs)

    def acceptance(self):
        return self.count("accepted") / max(1, self.count("launched"))

    def stages(self):
        """Each run's stages of the target, the first one's first."""
        return [r["stages"] for r in self.runs]


def run_json(command):
    return json.loads(run(command))


class Bench:
    """Thread-compatible; it makes threads of its own."""

    def __init__(self, args):
        self.args = args
        self.work = ROOT / "build/bench-pipeline"
        self.work.mkdir(parents=True, exist_ok=True)
        self.tools = args.tools
        self.programs = {}
        self.memo = {}
        self.simulated = {}
        self.calibrations = {}
        self.load_at_start = os.getloadavg()[0]
        self.pool = concurrent.futures.ThreadPoolExecutor(
            max(args.jobs, os.cpu_count()))

    # Executables -------------------------------------------------------------

    def compile(self, stages, draft=True):
        """The demo in so many stages."""
        key = (stages, draft)
        if key not in self.programs:
            path = self.work / f"m{stages}{'d' if draft else ''}"
            command = [self.tools / "sluice-compile",
                       MODELS / "target-q8_0.gguf", "-o", path]
            if draft:
                command += ["--draft", MODELS / "draft-q8_0.gguf"]
            if stages > 1 or draft:
                command += ["--stages", stages]
            run(command)
            # Packs the weights, so that what is measured has none of it.
            run([path, "generate", "--tokens", "5", "-n", "2"])
            self.programs[key] = path
        return self.programs[key]

    # Emulated runs -----------------------------------------------------------

    def repetitions(self, point):
        # Plain runs, and guesses that never come true, do not depend on seeds.
        if point.mode == "off" or point.draft == 0:
            return 1 if point.draft != DEMO else self.args.prompts
        return (self.args.prompts if point.draft == DEMO else
                self.args.repetitions[point.cluster])

    def command(self, point, repetition, tokens=None, stages=STAGES):
        count = (self.args.demo_tokens if point.draft == DEMO else
                 self.args.tokens)
        command = [self.compile(stages), "generate", "--json", "--ignore-eos",
                   "-n", tokens or count, "--emulate",
                   CLUSTERS / f"{point.cluster}.yaml", "--speculate",
                   point.mode]
        if point.mode != "off":
            command += ["--speculate-depth", point.depth, "--speculate-width",
                        point.width]
        if point.split:
            command.append("--sync-split")
        if point.draft == DEMO:
            command += ["-p", PROMPTS[repetition]]
        else:
            command += ["--tokens", ONES]
        if point.draft != DEMO and point.mode != "off":
            command += ["--oracle-acceptance", point.draft, "--oracle-seed",
                        repetition + 1]
        return command + list(point.flags)

    def calibrate(self, cluster):
        """How many runs at a time this cluster's emulation bears."""
        if cluster in self.calibrations:
            return self.calibrations[cluster][0]
        point = Point(cluster, 0.8, "async")
        command = self.command(point, 0, tokens=24)
        alone = run_json(command)["tokens_per_second"]
        jobs, beside = self.args.jobs, alone
        while jobs > 1:
            speeds = [each["tokens_per_second"] for each in self.pool.map(
                run_json, [command] * jobs)]
            beside = statistics.mean(speeds)
            if beside >= (1 - MOST_DISTURBED) * alone:
                break
            jobs, beside = jobs // 2, alone
        self.calibrations[cluster] = (jobs, alone, beside)
        say(f"{cluster}: {alone:.2f} tokens/s alone, {beside:.2f} beside "
            f"others: {jobs} at a time")
        return jobs

    def measure(self, points, repetitions=None):
        """Runs what has not been run yet; {point: Measured}."""
        wanted = []
        for point in points:
            count = repetitions or self.repetitions(point)
            wanted += [(point, i) for i in range(count)
                       if (point, i) not in self.memo
                       and (point, i) not in wanted]
        for cluster in sorted({point.cluster for point, _ in wanted}):
            self.run_all(cluster, [w for w in wanted if w[0].cluster ==
                                   cluster])
        return {point: self.of(point, repetitions) for point in points}

    def run_all(self, cluster, wanted):
        jobs = self.calibrate(cluster)
        began = time.monotonic()
        # Long ones first, so that none is left alone at the end.
        wanted.sort(key=lambda w: (w[0].mode != "off", w[0].mode != "sync",
                                   w[0].chance()))
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            results = pool.map(lambda w: run_json(self.command(*w)), wanted)
            for key, result in zip(wanted, results):
                self.memo[key] = result
        say(f"{cluster}: {len(wanted)} runs, "
            f"{time.monotonic() - began:.0f} s")

    def of(self, point, repetitions=None):
        count = repetitions or self.repetitions(point)
        return Measured([self.memo[point, i] for i in range(count)])

    def hit_rates(self):
        """How often the demo draft's first candidate is right, and one of its
        first 8: {1: .., 8: ..}."""
        if "hits" not in self.memo:
            self.memo["hits"] = {width: self.hit_rate(width)
                                 for width in (1, 8)}
        return self.memo["hits"]

    def hit_rate(self, width):
        right = rounds = 0
        for prompt in PROMPTS[:self.args.prompts]:
            counts = run_json([
                self.compile(STAGES), "generate", "--json", "--ignore-eos",
                "-p", prompt, "-n", self.args.demo_tokens, "--speculate",
                "sync",
                "--speculate-depth", 1, "--speculate-width", width])
            right += counts["speculation"]["accepted"]
            rounds += counts["speculation"]["launched"] / width
        return right / rounds

    # The simulator -----------------------------------------------------------

    def simulate(self, points, repetitions=None):
        """The same for virtual time: the same draws as in the emulated runs,
        as far as these have happened."""
        wanted = [(point, i) for point in points for i in
                  range(repetitions or self.repetitions(point))
                  if (point, i) not in self.simulated]
        outputs = self.outputs()
        commands = [self.sim_command(point, i, outputs) for point, i in wanted]
        for key, result in zip(wanted, self.pool.map(run_json, commands)):
            result["tokens"] = [0] * result["tokens"]
            self.simulated[key] = result
        return {point: Measured([self.simulated[point, i] for i in range(
            repetitions or self.repetitions(point))]) for point in points}

    def outputs(self):
        """What the demo says behind the ones: the oracles' draws hang on it."""
        if "outputs" not in self.memo:
            tokens = run_json([self.compile(STAGES), "generate", "--json",
                               "--ignore-eos", "-n", self.args.tokens,
                               "--tokens", ONES, "--speculate",
                               "off"])["tokens"]
            self.memo["outputs"] = ",".join(map(str, tokens))
        return self.memo["outputs"]

    def sim_command(self, point, repetition, outputs):
        command = [self.tools / "sluice-sim",
                   CLUSTERS / f"{point.cluster}.yaml", "--json", "--stages",
                   STAGES, "--tokens", self.args.tokens, "--prompt-tokens",
                   ONES.count("1"), "--outputs", outputs, "--acceptance",
                   point.chance(), "--seed", repetition + 1, "--speculate",
                   point.mode, "--depth", point.depth, "--width", point.width]
        command += ["--split-rows"] if point.split else []
        return command + list(point.flags)

    def hardware(self, cluster):
        """What the simulator has made of the description."""
        point = Point(cluster, 0.8, "off")
        return self.simulate([point])[point].runs[0]["prediction"]
