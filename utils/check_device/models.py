"""Parts that run whole models, as their own executables would."""
import json
import math

from . import workload
from .machine import Failure
from .programs import known

SEED = "1"
# How far logits, which are about 1 in size, may be from the CPU's: the cache is
# f16 on one and f32 on the other, and so are the activations of products.
NEAR = {"llama-1b-f32": 0.02, "llama-1b-bf16": 0.2}
PROMPT = ",".join(str(3 + 7 * i % 250) for i in range(16))


def scale_of(machine):
    return workload.TINY if machine.manifest().get("shape") else workload.FULL


def generate(machine, name, *options, device="cuda", tokens=8):
    """What the program wrote; its weights are made first."""
    return json.loads(machine.model(
        name, "generate", "--device", device, "--random-weights", SEED,
        "--tokens", PROMPT, "-n", tokens, "--ignore-eos", "--json", "-c", 1024,
        *options))


def run_workload(machine):
    """The phases of one run's trace, and those that began too early."""
    scale = scale_of(machine)
    lines, names = workload.trace(scale)
    path, records = machine.scratch / "trace", machine.scratch / "requests"
    path.write_text("\n".join(lines) + "\n")
    machine.model("llama-8b-bf16", "bench", "--device", "cuda",
                  "--random-weights", SEED, "--trace-file", path, "--requests",
                  len(lines), "--save-requests", records, "--json",
                  "--max-num-seqs", scale.requests, "-c",
                  2 * max(scale.prompts), "-b", min(scale.prompts),
                  "--max-itl-ms", 0, "--no-prefix-cache")
    made = [json.loads(line) for line in records.read_text().splitlines()]
    bad = [each["error"] for each in made if each["error"]]
    if bad or len(made) != len(names):
        raise Failure(bad[0] if bad else "requests are missing")
    return workload.by_phase(made, names)


def fusion(machine):
    """Requests alone, at once, one after the other, and prompts."""
    found, early = run_workload(machine)
    program = known("llama-8b-bf16")
    shape = machine.manifest().get("shape") or program.shape
    for line in workload.fusion(found, early):
        machine.add(**line)
    for line in workload.prompts(found, program.step_products(shape)):
        machine.add(**line)


def furthest(some, others):
    """The largest difference; infinite where a number is none, which max() may
    overlook."""
    apart = [abs(a - b) for a, b in zip(some, others, strict=True)]
    return max(apart, default=0.0) if all(map(math.isfinite, apart)) \
        else math.inf


def logprobs(made):
    """Of the tokens that were generated, as the steps that made them say."""
    return [each["logprob"] for each in made["logprobs"]]


def lead(report):
    """By how much the best token leads the second."""
    best = sorted((each["logprob"] for each in report["top"]), reverse=True)
    return best[0] - best[1] if len(best) > 1 else math.inf


def first_wrong(cpu, gpu, near):
    """The number of the first token that is not the CPU's although the CPU's
    best led by more than both devices' errors; None: there is none. Behind a
    first token that is another by chance nothing can be compared."""
    for number, (ours, theirs) in enumerate(zip(gpu["tokens"], cpu["tokens"])):
        if ours != theirs:
            leads = lead(cpu["logprobs"][number])
            return number if leads > 2 * near else None
    return None


def compare(machine, name, near):
    """Logits within a bound, tokens where the choice is beyond doubt, and the
    same bits again and with any batch mates."""
    scale = scale_of(machine)
    tokens = scale.conformance

    def made(*options, device="cuda"):
        return generate(machine, name, "--logits", *options, device=device,
                        tokens=tokens)

    cpu = made("--logprobs", 2, device="cpu")
    gpu = made("--logprobs", 2)
    # Its tokens are the device's own choice; the others' the host's.
    again = made()
    shared = [made("--logprobs", 2, "--company", each)
              for each in scale.companies]
    agreed = 0
    while agreed < tokens and gpu["tokens"][agreed] == cpu["tokens"][agreed]:
        agreed += 1
    away = furthest(cpu["last_logits"], gpu["last_logits"])
    decoding = furthest(logprobs(cpu)[:agreed], logprobs(gpu)[:agreed])
    wrong = first_wrong(cpu, gpu, near)
    exact = again["tokens"] == gpu["tokens"] and all(
        each["tokens"] == gpu["tokens"] and logprobs(each) == logprobs(gpu)
        and each["last_logits"] == gpu["last_logits"] for each in shared)
    machine.add(what=name, tokens=tokens, asTheCPU=agreed,
                logitsAway=round(away, 6), decodingAway=round(decoding, 6),
                mayBe=near, wrongToken=wrong, sameBitsInCompany=exact,
                companies=", ".join(map(str, scale.companies)),
                holds=away <= near and decoding <= near and wrong is None
                and exact)


def logits(machine):
    """The prompt's logits and each step's log-probabilities against the CPU's;
    and with batch mates in every step, up to 64 rows: the same bits."""
    for name, near in NEAR.items():
        compare(machine, name, near)


def cancellation(machine):
    """Guesses that turn out wrong while they are computed: how long the rows of
    a decision stay. Of a step's own rows alone, not of a prompt's chunk."""
    made = generate(machine, "llama-8b-checkpoints", "--oracle-acceptance",
                    "0.6", tokens=scale_of(machine).cancels)
    stage = made["stages"][0]
    latency = stage["cancel_latency_us"]
    machine.add(what="decisions that found rows in a step",
                measured=latency["count"])
    machine.add(what="decision to rows gone, p50 us",
                measured=round(latency["p50"], 1))
    machine.add(what="decision to rows gone, p99 us",
                measured=round(latency["p99"], 1), wanted="at most 100")
    machine.add(what="rows that left inside a step",
                measured=stage["left_at_checkpoints"])
    machine.add(what="rows computed for nothing",
                measured=stage["computed_dead"])


def checkpoints(machine):
    """What a checkpoint costs a step in which nobody leaves; how long moving
    rows takes is what `rows that leave` says."""
    name = "llama-8b-checkpoints"
    info = json.loads(machine.model(name, "info", "--json"))
    count = info["programs"][0]["checkpoints"]
    tokens = scale_of(machine).batch_one

    def microseconds(model):
        return 1e6 / generate(machine, model,
                              tokens=tokens)["tokens_per_second"]
    plain, checked = microseconds("llama-8b-bf16"), microseconds(name)
    machine.add(what="checkpoints", checkpoints=count,
                stepMicroseconds=round(checked, 1), without=round(plain, 1),
                each=round((checked - plain) / count, 2) if count else None)
