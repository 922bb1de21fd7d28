"""What the sections measure: models, Sluice and llama.cpp on them, and the
machine's limits."""
import dataclasses
import json
import pathlib
import statistics

from bench_common.peer import (THREADS, instructions_of, random_model,
                               require_program, version_of)
from bench_common.processes import fail, run

SHAPE = "tinyllama-1.1b"
# By format: bytes of a weight of the table that tokens are looked up in, and
# the instruction that products are made with.
FORMATS = {"q4_0": (18 / 32, "int8"), "q8_0": (34 / 32, "int8"),
           "q4_k_m": (144 / 256, "int8"), "f16": (2, "fma"),
           "q6_k": (210 / 256, "int8")}
# Measured unless others are named.
USUAL_FORMATS = ["q4_0", "q8_0", "q4_k_m", "f16"]
FOUR_BITS = ("q4_0", "q4_k_m")
# What llama.cpp calls the best instructions of the kernels' sets.
PEER_SETS = {"avx2": "AVX2", "avx512": "AVX512", "avx512vnni": "AVX512_VNNI"}
RATIOS = """Ratios are the medians of the runs' ratios, with the least and the most \
in parentheses."""


@dataclasses.dataclass
class Model:
    """A model's file and its executable."""
    format: str
    file: pathlib.Path
    program: pathlib.Path
    isa: str           # that the executable was built for
    parameters: int    # that products are made with, and of these
    head_parameters: int  # those for a step's outputs alone
    table_bytes: int   # of the table that tokens are looked up in
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
        ratios = [a / b for a, b in self.runs]
        return [f"{self.ours():.1f}", f"{self.theirs():.1f}",
                f"{self.ratio():.2f} ({min(ratios):.2f} to {max(ratios):.2f})"]


def by_turns(turn, ours, theirs):
    """What both return, of which one is called first in even turns and the other
    in odd ones."""
    if turn % 2:
        later = theirs()
        return ours(), later
    first = ours()
    return first, theirs()


class BoundedPairs(Pairs):
    """Likewise, with the machine's limits ({name: a second}) around each run of
    Sluice's, and what part of them it reached; and what part llama.cpp reached of
    those around its own, where they were measured."""

    def __init__(self):
        super().__init__()
        self.limits, self.shares, self.peer_shares = [], [], []

    def add_bounded(self, ours, theirs, limits, share, peer_share=None):
        self.add(ours, theirs)
        self.limits.append(limits)
        self.shares.append(share)
        self.peer_shares.append(peer_share)

    def limit(self, name):
        return statistics.median(each[name] for each in self.limits)

    def share(self):
        return statistics.median(self.shares)

    def peer_share(self):
        return statistics.median(self.peer_shares)


def prepare(args, fmt):
    file, program = random_model(args.work, SHAPE, fmt, args.tools, args.cpu)
    info = json.loads(run([program, "info", "--json"]))
    table = info["vocab_size"] * info["hidden_size"]
    table_bytes = int(table * FORMATS[fmt][0])
    # The shape's head has a table of its own, as large as that of the tokens.
    return Model(fmt, file, program, info["cpu"], info["parameters"] - table, table,
                 table_bytes, info["memory"]["weights_bytes"] - table_bytes,
                 info["memory"]["cache_bytes_per_token"],
                 # Heads and their dimensions make up a row of the shape's.
                 4 * info["hidden_size"] * info["layers"])


def describe_peer(args, model):
    """llama.cpp's version, and the best instructions that it was built with, which
    are to be those of the model."""
    version = version_of(require_program("llama-completion", args.llama_bin))
    built = instructions_of(args.llama_bin, model.file)
    sets = [isa for isa, name in PEER_SETS.items() if name in built]
    if sets[-1:] != [model.isa]:
        fail(f"llama.cpp was built for {sets[-1] if sets else 'less than avx2'}, "
             f"the models are for {model.isa}: see --llama-bin and --cpu")
    return f"{version}, {built[-1]}"


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


def whole(found, wanted, program):
    """What a program was found to say, with all that is wanted in it."""
    if missing := [each for each in wanted if each not in found]:
        fail(f"{program}: says nothing of " + ", ".join(map(str, missing)))
    return found


class Limits:
    """What the machine does at most with the instructions that a model was
    compiled to, measured again and again among the rest: bytes read and
    operations done a second."""

    def __init__(self, args, model, threads=THREADS):
        self.threads = threads
        self.isa = model.isa
        self.command = [args.tools / "machine-bench", "--threads", threads,
                        "--isa", self.isa]
        self.found = []

    def measure(self, name):
        """One of them: "read", "int8", "int4" or "fma"."""
        self.found.append(json.loads(run(self.command + ["--only", name])))

    def behind(self, name, measured):
        """What measured() returns, and that limit right behind it."""
        result = measured()
        self.measure(name)
        return result, self.values(name)[-1]

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

    def values(self, what):
        """What was found of "read", "int8", "int4" or "fma"."""
        found = [each if what == "read" else each.get(self.isa, {})
                 for each in self.found]
        return [each[what] for each in found if what in each]

    def read(self):
        return statistics.median(self.values("read"))

    def operations(self, unit):
        return statistics.median(self.values(unit))
