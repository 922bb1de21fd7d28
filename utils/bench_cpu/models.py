"""What the sections measure: models, Sluice and llama.cpp on them, and the
machine's limits."""
import dataclasses
import json
import pathlib
import statistics

from bench_common.peer import random_model, run

SHAPE = "tinyllama-1.1b"
THREADS = 2
# By format: bytes of a weight of the table that tokens are looked up in, and
# the instruction that products are made with.
FORMATS = {"q4_0": (18 / 32, "int8"), "q8_0": (34 / 32, "int8"),
           "q4_k_m": (144 / 256, "int8"), "f16": (2, "fma")}
FOUR_BITS = ("q4_0", "q4_k_m")


@dataclasses.dataclass
class Model:
    """A model's file and its executable."""
    format: str
    file: pathlib.Path
    program: pathlib.Path
    parameters: int    # that products are made with, and of these
    head_parameters: int  # those for a step's outputs alone
    step_bytes: int    # of weights that a step reads
    token_bytes: int   # of cache that a token takes
    pair_operations: int  # of attention, for a row and a position that it sees

    @property
    def unit(self):
        return FORMATS[self.format][1]


class Pairs:
    """Tokens a second of Sluice and of llama.cpp, taken by turns."""

    def __init__(self):
        self.runs = []

    def add(self, ours, theirs):
        self.runs.append((ours, theirs))

    def ours(self):
        return statistics.median(run[0] for run in self.runs)

    def theirs(self):
        return statistics.median(run[1] for run in self.runs)

    def ratio(self):
        return statistics.median(a / b for a, b in self.runs)

    def cells(self):
        return [f"{self.ours():.1f}", f"{self.theirs():.1f}",
                f"{self.ratio():.2f}"]


class BoundedPairs(Pairs):
    """Likewise, with the machine's limits ({name: a second}) around each run of
    Sluice's, and what part of them it reached."""

    def __init__(self):
        super().__init__()
        self.limits, self.shares = [], []

    def add_bounded(self, ours, theirs, limits, share):
        self.add(ours, theirs)
        self.limits.append(limits)
        self.shares.append(share)

    def limit(self, name):
        return statistics.median(each[name] for each in self.limits)

    def share(self):
        return statistics.median(self.shares)


def prepare(args, fmt):
    file, program = random_model(args.work, SHAPE, fmt, args.tools)
    info = json.loads(run([program, "info", "--json"]))
    table = info["vocab_size"] * info["hidden_size"]
    # The shape's head has a table of its own, as large as that of the tokens.
    return Model(fmt, file, program, info["parameters"] - table, table,
                 int(info["memory"]["weights_bytes"]
                     - table * FORMATS[fmt][0]),
                 info["memory"]["cache_bytes_per_token"],
                 # Heads and their dimensions make up a row of the shape's.
                 4 * info["hidden_size"] * info["layers"])


def generate(model, tokens, count, threads=THREADS, options=()):
    """Times of one request: (prompt's tokens a second, tokens a second behind
    it)."""
    prompt = model.file.with_name(f"{tokens}.tokens")
    prompt.write_text(",".join(str(3 + 7 * i % 31000) for i in range(tokens)))
    timing = json.loads(run([
        model.program, "generate", "--ignore-eos", "--json", "-t", threads,
        "-c", tokens + count, "--tokens-file", prompt, "-n", count,
        *options]))["timing"]
    after = timing["generated_tokens"] - 1
    return (timing["prompt_tokens"] / timing["prompt_seconds"],
            after / timing["generate_seconds"] if after else None)


def llama_bench(peer, model, threads=THREADS, prompts=(), generate=0, depth=0):
    """Tokens a second, by (prompt's tokens, tokens generated)."""
    rows = json.loads(run([
        peer, "-m", model.file, "-t", threads, "-r", 1, "-o", "json", "-p",
        ",".join(map(str, prompts)) or 0, "-n", generate, "-d", depth]))
    found = {(row["n_prompt"], row["n_gen"]): row["avg_ts"] for row in rows}
    wanted = [(tokens, 0) for tokens in prompts] + [(0, generate)] * (
        generate > 0)
    return whole(found, wanted, peer)


def whole(found, wanted, peer):
    """What was found, with all that is wanted in it."""
    if missing := [each for each in wanted if each not in found]:
        raise SystemExit(f"{peer}: says nothing of "
                         + ", ".join(map(str, missing)))
    return found


class Limits:
    """What the machine does at most, measured again and again among the rest:
    bytes read and operations done a second."""

    def __init__(self, args, threads=THREADS):
        self.threads = threads
        self.command = [args.tools / "machine-bench", "--threads", threads]
        self.found = []

    def measure(self, only=None):
        """All of them, or the one that is named: "read", "int8" or "fma"."""
        self.found.append(json.loads(run(
            self.command + (["--only", only] if only else []))))

    def around(self, names, measured):
        """What measured() returns, and {name: the mean of that limit before and
        behind it}, as neighbours of a virtual machine change them from minute
        to minute."""
        names = dict.fromkeys(names)
        for name in names:
            self.measure(name)
        result = measured()
        for name in names:
            self.measure(name)
        return result, {name: statistics.mean(self.values(name)[-2:])
                        for name in names}

    @property
    def isa(self):
        """The best of the instruction sets that were measured; they come in
        order."""
        return [name for found in self.found for name, each in found.items()
                if isinstance(each, dict)][-1]

    def values(self, what):
        """What was found of "read", or of "int8" or "fma" with the best
        instruction set."""
        if what == "read":
            return [each["read"] for each in self.found if "read" in each]
        isa = self.isa
        return [each[isa][what] for each in self.found
                if what in each.get(isa, ())]

    def read(self):
        return statistics.median(self.values("read"))

    def operations(self, unit):
        return statistics.median(self.values(unit))
