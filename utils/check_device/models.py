"""Parts that run whole models: executables whose weights are made of a seed."""
import json
import math

from . import workload
from .machine import Failure, NotHere
from .programs import ARCHIVE, PROGRAMS, unpack

SEED = "1"
# How far logits, which are about 1 in size, may be from the CPU's: the cache is
# f16 on one and f32 on the other, and so are the activations of products.
NEAR = {"llama-1b-f32": 0.02, "llama-8b-bf16": 0.2}
PROMPT = ",".join(str(3 + 7 * i % 900) for i in range(16))


def known(name):
    return next(each for each in PROGRAMS if each.name == name)


def manifest(machine):
    try:
        return json.loads((machine.carry / "manifest.json").read_text())
    except OSError:
        return {}


def shape_of(machine, program):
    """The carried one's: another than its own in tests."""
    return manifest(machine).get("shape") or program.shape


def scale_of(machine):
    return workload.TINY if manifest(machine).get("shape") else workload.FULL


def unpacked(machine, name):
    """The executable, where programs may be started."""
    path = machine.scratch / name
    if not path.is_file():
        archive = machine.carry / ARCHIVE
        if not archive.is_file():
            raise NotHere("no program was carried")
        unpack(archive, machine.scratch)
    if not path.is_file():
        raise NotHere(f"{name} was not carried")
    return path


def generate(machine, name, *options, device="cuda", tokens=8):
    """What the program wrote; its weights are made first."""
    return json.loads(machine.run(
        unpacked(machine, name), "generate", "--device", device,
        "--random-weights", SEED, "--tokens", PROMPT, "-n", tokens,
        "--ignore-eos", "--json", "-c", 1024, *options))


def batch_one(machine):
    """Tokens of one request, and the bytes of weights that they read."""
    measured = []
    for program in PROGRAMS:
        if not program.wanted:
            continue
        made = generate(machine, program.name,
                        tokens=scale_of(machine).batch_one)
        rate = made["tokens_per_second"]
        machine.found.setdefault("tokensPerSecond", {})[program.name] = rate
        read = program.step_bytes(shape_of(machine, program)) * rate / 1e9
        line = {"model": program.name, "tokensPerSecond": round(rate, 2),
                "gigabytesPerSecond": round(read, 2)}
        if machine.found.get("copy"):
            line["ofTheCopy"] = round(read / machine.found["copy"], 3)
        measured.append({**line, "wanted": f"at least {program.wanted}"})
    return measured


def run_workload(machine):
    """The phases of the trace, of one run for all parts that want them."""
    if "phases" in machine.kept:
        return machine.kept["phases"]
    scale = scale_of(machine)
    program = unpacked(machine, "llama-8b-bf16")
    lines, names = workload.trace(scale)
    path, records = machine.scratch / "trace", machine.scratch / "requests"
    path.write_text("\n".join(lines) + "\n")
    machine.run(program, "bench", "--device", "cuda", "--random-weights", SEED,
                "--trace-file", path, "--requests", len(lines),
                "--save-requests", records, "--json", "--max-num-seqs",
                scale.requests, "-c", 2 * max(scale.prompts), "-b",
                min(scale.prompts), "--max-itl-ms", 0, "--no-prefix-cache")
    made = [json.loads(line) for line in records.read_text().splitlines()]
    bad = [each["error"] for each in made if each["error"]]
    if bad or len(made) != len(names):
        raise Failure(bad[0] if bad else "requests are missing")
    machine.kept["phases"] = workload.by_phase(made, names)
    return machine.kept["phases"]


def fusion(machine):
    return list(workload.fusion(*run_workload(machine)))


def prompts(machine):
    program = known("llama-8b-bf16")
    return list(workload.prompts(
        run_workload(machine)[0],
        program.step_products(shape_of(machine, program)),
        machine.found.get("teraflops")))


def furthest(some, others):
    """The largest difference; infinite where a number is none, which max() may
    overlook."""
    apart = [abs(a - b) for a, b in zip(some, others, strict=True)]
    return max(apart) if all(map(math.isfinite, apart)) else math.inf


def distance(one, other):
    return furthest(one["last_logits"], other["last_logits"])


def logprobs(made):
    """Of the tokens that were generated, as the steps that made them say."""
    return [each["logprob"] for each in made["logprobs"]]


def scored(machine, name, tokens):
    """The CPU's log-probability of each token behind the prompt, given those
    before it, whatever it would have taken itself."""
    made = json.loads(machine.run(
        unpacked(machine, name), "score", "--device", "cpu",
        "--random-weights", SEED, "--tokens",
        ",".join([PROMPT, *map(str, tokens)]), "--json", "-c", 1024))
    return made["token_logprobs"][-len(tokens):]


def compare_model(machine, name, near):
    """The report's line of a model, and what is wrong."""
    tokens = scale_of(machine).conformance
    companies = scale_of(machine).companies
    if not name.endswith("f32"):
        companies = companies[:1]  # for its size

    def made(*options, device="cuda"):
        return generate(machine, name, "--logits", *options, device=device,
                        tokens=tokens)
    cpu, gpu = made(device="cpu"), made("--logprobs", 1)
    # Its tokens are the device's own choice; the others' the host's.
    again = made()
    shared = [made("--logprobs", 1, "--company", each) for each in companies]
    same = next((i for i, pair in enumerate(zip(cpu["tokens"], gpu["tokens"]))
                 if pair[0] != pair[1]), tokens)
    away = distance(cpu, gpu)
    decoded = furthest(logprobs(gpu), scored(machine, name, gpu["tokens"]))
    exact = all(each["tokens"] == gpu["tokens"] and distance(each, gpu) == 0
                for each in [again, *shared]) and \
        all(logprobs(each) == logprobs(gpu) for each in shared)
    wrong = []
    if not exact:
        wrong.append(f"{name}: runs differ from each other")
    for what, value in (("logits", away), ("decoding", decoded)):
        if not math.isfinite(value) or value > near:
            wrong.append(f"{name}: {what}: {value:.3g} from the CPU's")
    if name.endswith("f32") and same < tokens:
        wrong.append(f"{name}: token {same} is not the CPU's")
    return {"model": name, "tokens": tokens, "asTheCPU": same,
            "logitsAway": round(away, 5), "decodingAway": round(decoded, 5),
            "mayBe": near, "sameBitsAgainAndInCompany": exact,
            "companies": ", ".join(map(str, companies))}, wrong


def greedy(machine):
    """Tokens, the prompt's logits and each step's log-probabilities against the
    CPU's; and again, and with strangers in every step, up to 64 rows: the same
    bits."""
    measured, wrong = [], []
    for name, near in NEAR.items():
        line, bad = compare_model(machine, name, near)
        measured.append(line)
        wrong += bad
    if wrong:
        raise Failure("; ".join(wrong),
                      "\n".join(json.dumps(each) for each in measured))
    return measured


def cancellation(machine):
    """Guesses that turn out wrong while they are computed: how long the rows of
    a decision stay. Of a step's own rows alone, not of a prompt's chunk."""
    made = generate(machine, "llama-8b-checkpoints", "--oracle-acceptance",
                    "0.6", tokens=scale_of(machine).cancels)
    stage = made["stages"][0]
    return [{"what": name, "measured": value, "wanted": wanted}
            for name, value, wanted in (
                ("decisions that found rows in a step",
                 stage["cancel_latency_us"]["count"], ""),
                ("decision to rows gone, p50 us",
                 round(stage["cancel_latency_us"]["p50"], 1), ""),
                ("decision to rows gone, p99 us",
                 round(stage["cancel_latency_us"]["p99"], 1), "at most 100"),
                ("rows that left inside a step", stage["left_at_checkpoints"],
                 ""),
                ("rows computed for nothing", stage["computed_dead"], ""))]


def checkpoints(machine):
    """What a checkpoint costs a step in which nobody leaves; how long moving
    rows takes is what `rows that leave` says."""
    name = "llama-8b-checkpoints"
    info = json.loads(machine.run(unpacked(machine, name), "info", "--json"))
    count = info["programs"][0]["checkpoints"]
    scale = scale_of(machine)
    rates = machine.found.get("tokensPerSecond", {})
    plain = rates.get("llama-8b-bf16") or generate(
        machine, "llama-8b-bf16", tokens=scale.batch_one)["tokens_per_second"]
    made = generate(machine, name, tokens=scale.batch_one)["tokens_per_second"]
    more = 1e6 / made - 1e6 / plain
    return [{"checkpoints": count, "stepMicroseconds": round(1e6 / made, 1),
             "without": round(1e6 / plain, 1),
             "each": round(more / count, 2) if count else ""}]


def launch_gaps(machine):
    """Between the end of a step and the beginning of the next one the device has
    nothing to do. What it waits inside a step is not in here."""
    path = machine.scratch / "gaps.json"
    generate(machine, "llama-8b-bf16", "--trace", path,
             tokens=scale_of(machine).batch_one)
    steps = sorted((each["ts"], each["dur"])
                   for each in json.loads(path.read_text())["traceEvents"]
                   if each["ph"] == "X" and each["name"] == "1 row")
    if len(steps) < 2:
        raise Failure(f"the trace has {len(steps)} steps of a row")
    idle = sum(after[0] - before[0] - before[1]
               for before, after in zip(steps, steps[1:]))
    whole = steps[-1][0] - steps[0][0]
    return [{"steps": len(steps), "ofAStep": f"{100 * idle / whole:.1f} %",
             "wanted": "at most 5 %, with what is inside a step"}]
