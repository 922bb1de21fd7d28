"""One run of a program's `bench`, with all that is asked of it in turn.

Loading takes longer than measuring, so alone, at once, one after the other and
prompts are phases of one recorded trace; a phase that begins before the one
before has ended says so.
"""
import dataclasses
import json
import random
import statistics


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much is asked for; small for tests."""
    prompt: int = 8
    output: int = 512
    requests: int = 32
    interval_ms: float = 500.0
    rest_ms: float = 6000.0  # for the requests of a phase to end
    prompts: tuple = (2048, 8192)
    batch_one: int = 256
    conformance: int = 24
    # Batch mates in every step, of one to three rows each: 63 rows, 15, 3.
    companies: tuple = (31, 7, 1)
    cancels: int = 200


FULL = Scale()
TINY = Scale(4, 4, 2, 100.0, 2000.0, (8, 16), 4, 2, (3,), 12)


def phases(scale):
    """Name, and arrivals in milliseconds from its beginning with lengths."""
    lengths = (scale.prompt, scale.output)
    count, interval = scale.requests, scale.interval_ms
    yield "alone", [(0.0, *lengths)]
    yield "at once", [(0.0, *lengths)] * count
    yield "each interval", [(i * interval, *lengths) for i in range(count)]
    gaps, at, poisson = random.Random(1), 0.0, []
    for _ in range(count):
        poisson.append((at, *lengths))
        at += gaps.expovariate(1 / interval)
    yield "Poisson", poisson
    for tokens in scale.prompts:
        yield f"prompt {tokens}", [(0.0, tokens, 1)]


def trace(scale):
    """The lines of the trace, and which phase each is of."""
    lines, names, begin = [], [], 0.0
    for name, arrivals in phases(scale):
        for at, prompt, output in arrivals:
            lines.append(json.dumps({"timestamp": round(begin + at, 3),
                                     "input_length": prompt,
                                     "output_length": output}))
            names.append(name)
        begin += arrivals[-1][0] + scale.rest_ms
    return lines, names


def by_phase(records, names):
    """The requests of each phase, and the phases that began too early."""
    found, early, last_end = {}, [], 0.0
    for record, name in zip(sorted(records, key=lambda r: r["request"]), names):
        if name not in found and record["arrival_ms"] < last_end:
            early.append(name)
        found.setdefault(name, []).append(record)
        last_end = max(last_end, record["ended_ms"])
    return found, early


def took(records):
    return (max(each["ended_ms"] for each in records)
            - min(each["arrival_ms"] for each in records))


def fusion(found, early):
    """How shared steps compare with a request's own."""
    alone, together = found["alone"], found["at once"]
    own = statistics.median(alone[0]["itl_ms"])
    # While all of them run: the middle of the one that began last.
    shared = statistics.median(
        max(together, key=lambda each: each.get("ttft_ms", 0))["itl_ms"])
    gain = len(together) * took(alone) / took(together)
    yield {"what": f"step of {len(together)} rows over one row",
           "measured": round(shared / own, 3), "wanted": "at most 1.10"}
    yield {"what": f"gain over one after the other at {len(together)}",
           "measured": round(gain, 2), "wanted": "at least 16.7"}
    for name in ("each interval", "Poisson"):
        mean = statistics.mean(each["e2e_ms"] for each in found[name])
        yield {"what": f"{name}: mean time of a request over alone",
               "measured": round(mean / took(alone), 3),
               "wanted": "at most 1.02 and the step's share"}
    if early:
        yield {"what": "began before the phase before had ended",
               "measured": ", ".join(early), "wanted": "none"}


def prompts(found, products):
    """`products`: multiplications of a row."""
    for name, records in found.items():
        if not name.startswith("prompt "):
            continue
        tokens = int(name.split()[1])
        seconds = records[0]["ttft_ms"] / 1e3
        rate = 2 * products * tokens / seconds / 1e12
        yield {"what": name, "firstTokenSeconds": round(seconds, 4),
               "teraflops": round(rate, 2)}
