"""Sections "row" and "prompt": one request alone."""
import statistics

from bench_common.peer import require_program
from bench_common.report import Target, table

from . import models
from .models import BoundedPairs

GENERATE = 64
# Turns of a run by context: a turn without one is short, and memory is faster at
# some moments than at others.
TURNS = {0: 3, 2048: 1}
PROMPTS = (512, 2048)
ROW_RATIO, PROMPT_RATIO = 1.10, 1.2
READ_SHARE, READ_SHARE_FOUR_BITS, PEAK_SHARE = 0.90, 0.85, 0.6


def step_bytes(model, context):
    """Read by a step in the middle of what is generated."""
    return model.step_bytes + model.token_bytes * (context + GENERATE / 2)


def peer_step_bytes(model, context):
    """Likewise by llama.cpp, whose cache is of 16 bits in place of 32."""
    return (model.file.stat().st_size - model.table_bytes
            + model.token_bytes / 2 * (context + GENERATE / 2))


def row_of(args, peer, model, limits):
    """{context: BoundedPairs of generating}"""
    found = {context: BoundedPairs() for context in TURNS}
    for _ in range(args.repeats):
        for context in (each for each, turns in TURNS.items()
                        for _ in range(turns)):
            pairs = found[context]
            # Its end is what is measured: behind a long prompt, whose beginning
            # is too long ago to tell how fast memory is now.
            ((_, ours), read), (theirs, peer_read) = models.by_turns(
                len(pairs.runs),
                lambda: limits.behind("read", lambda: models.generate(
                    model, max(context, 1), GENERATE + 1)),
                lambda: limits.behind("read", lambda: models.llama_bench(
                    peer, model, generate=GENERATE, depth=context)[0, GENERATE]))
            pairs.add_bounded(
                ours, theirs, {"read": read},
                ours * step_bytes(model, context) / read,
                theirs * peer_step_bytes(model, context) / peer_read)
            args.say(f"  {model.format} at {context}: {ours:.1f} and "
                     f"{theirs:.1f} tokens/s")
    return found


def row_section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-bench", args.llama_bin)
    rows, targets = [], []
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        limits = models.Limits(args, model)
        least = (READ_SHARE_FOUR_BITS if fmt in models.FOUR_BITS
                 else READ_SHARE)
        for context, pairs in row_of(args, peer, model, limits).items():
            share = pairs.share()
            rows.append([fmt, context, *pairs.cells(),
                         f"{step_bytes(model, context) / 1e9:.3f}",
                         f"{pairs.limit('read') / 1e9:.1f}",
                         f"{share:.2f}", f"{pairs.peer_share():.2f}"])
            targets += [
                Target(f"{fmt} at {context}, by llama-bench's",
                       f"{pairs.ratio():.3f}", f"at least {ROW_RATIO}",
                       pairs.ratio() >= ROW_RATIO),
                Target(f"{fmt} at {context}, share of the read bandwidth",
                       f"{share:.3f}", f"at least {least}", share >= least)]
    text = f"""{models.SHAPE} with random weights, {models.THREADS} threads; one \
request that generates {GENERATE} tokens behind a context of so many. Sluice and \
`llama-bench` (llama.cpp {args.peer}) by turns, {args.repeats} runs \
({TURNS[0]} times as many without a context), \
medians. {models.RATIOS} *Bytes* are what a step must \
read: weights as they are packed, without the table that tokens are looked up in, and \
cache. *Read* \
is the rate at which as many threads read memory, measured right behind each run, and \
*share* the median of the runs' parts of it. *Peer's* is \
llama.cpp's part: its file's weights and its cache of 16 bits. Where \
that is near 1, memory leaves nobody much to win; it can be more, as memory changes \
within a run.

{table(["format", "context", "Sluice tok/s", "llama.cpp tok/s", "ratio",
        "GB a step", "read GB/s", "share", "peer's"], rows)}"""
    return text, targets, {}


def operations(model, tokens):
    """Of a prompt in products with weights, of which one row goes on to the
    logits, and in attention."""
    body = model.parameters - model.head_parameters
    return (2 * (body * tokens + model.head_parameters),
            model.pair_operations * tokens * (tokens + 1) / 2)


def peak_share(model, tokens, speed, most, unit):
    """Of the time that a prompt took, what it would take at the peak: products
    that of `unit`, attention that of floats."""
    products, attention = operations(model, tokens)
    return (products / most[unit] + attention / most["fma"]) / (tokens / speed)


def prompt_of(args, peer, model, limits):
    """{tokens: BoundedPairs of prompts}"""
    found = {tokens: BoundedPairs() for tokens in PROMPTS}
    units = (model.unit, "fma",
             *(["int4"] if model.format in models.FOUR_BITS else []))
    for _ in range(args.repeats):
        for tokens, pairs in found.items():
            ((ours, _), most), theirs = models.by_turns(
                len(pairs.runs),
                lambda: limits.around(
                    units, lambda: models.generate(model, tokens, 1)),
                lambda: models.llama_bench(peer, model,
                                           prompts=[tokens])[tokens, 0])
            pairs.add_bounded(ours, theirs, most, peak_share(
                model, tokens, ours, most, model.unit))
            args.say(f"  {model.format}, {tokens} tokens: {ours:.1f} and "
                     f"{theirs:.1f} tokens/s")
    return found


def note_of(model, tokens, pairs):
    """Sets without VNNI take fewer instructions for a product of 4 bits."""
    if model.format not in models.FOUR_BITS:
        return ""
    share = statistics.median(
        peak_share(model, tokens, ours, most, "int4")
        for (ours, _), most in zip(pairs.runs, pairs.limits))
    return f"{share:.2f} of 4-bit products'"


def prompt_section(args):
    """(text, targets, pictures)"""
    peer = require_program("llama-bench", args.llama_bin)
    rows, targets = [], []
    for fmt in args.formats:
        model = models.prepare(args, fmt)
        limits = models.Limits(args, model)
        for tokens, pairs in prompt_of(args, peer, model, limits).items():
            share = pairs.share()
            products, attention = operations(model, tokens)
            rows.append([fmt, tokens, *pairs.cells(), model.unit,
                         f"{products / 1e9:.0f}", f"{attention / 1e9:.0f}",
                         f"{pairs.limit(model.unit) / 1e9:.0f}",
                         f"{pairs.limit('fma') / 1e9:.0f}",
                         f"{share:.2f}"])
            targets += [
                Target(f"{fmt}, {tokens} tokens, by llama-bench's",
                       f"{pairs.ratio():.3f}", f"at least {PROMPT_RATIO}",
                       pairs.ratio() >= PROMPT_RATIO),
                Target(f"{fmt}, {tokens} tokens, share of the peak",
                       f"{share:.3f}", f"at least {PEAK_SHARE}",
                       share >= PEAK_SHARE, note_of(model, tokens, pairs))]
    text = f"""The same models; a prompt by itself, by turns, {args.repeats} runs, medians. {models.RATIOS} \
Two operations for each weight and \
token in products with weights (those for logits once), made with *unit*, and for \
each number of a head and position that a token sees, twice, in attention, of \
floats. *Peak* is what the \
threads' `{limits.isa}` products of 8-bit integers (int8) or floats (fma) reach with \
all operands in registers, measured before and behind each of Sluice's runs \
(`machine-bench`; 4-bit products, which the notes name, are of 4 by 8 bits, and \
q4_k_m's few weights of 6 bits are counted as such), and *share* the time that all operations would take at the peak by \
what the prompt took, the median of the runs'.

{table(["format", "tokens", "Sluice tok/s", "llama.cpp tok/s", "ratio", "unit",
        "Gop products", "Gop attention", "peak Gop/s", "peak fma Gop/s",
        "share"], rows)}"""
    return text, targets, {}
