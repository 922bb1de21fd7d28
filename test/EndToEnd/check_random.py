#!/usr/bin/env python3
"""Checks programs whose weights are made of a seed.

  check_random.py FORMAT ./program [./in-stages]

The tokens of a seed are always the same, those of another seed are others, and a
model in stages has the whole one's. The emulated GPU has the CPU's weights: its
logits are as near as the format lets them be, while those of another seed are as
far as their size, which is about 1; in f32 and f16 its tokens are the same.
"""
import json
import math
import subprocess
import sys

# How far logits of size 1 may be from the CPU's, which rounds activations to
# eight bits where weights are quantised.
NEAR = {"f32": 0.005, "f16": 0.01, "bf16": 0.05, "e4m3": 0.02}
PROGRAM, STAGES = sys.argv[2], sys.argv[3:]


def run(seed, device, *options, program=PROGRAM):
    return json.loads(subprocess.run(
        [program, "generate", "--device", device, "--random-weights", str(seed),
         "--tokens", "5,6,7,8", "-n", "8", "--ignore-eos", "--json", *options],
        check=True, capture_output=True, text=True).stdout)


def distance(one, other):
    return max(abs(a - b) for a, b in zip(one["last_logits"],
                                          other["last_logits"]))


def check(holds, what):
    if not holds:
        sys.exit(f"{sys.argv[1]}: {what}")


def main():
    near = NEAR.get(sys.argv[1], 0.15)
    cpu, again = run(3, "cpu", "--logits"), run(3, "cpu", "--logits")
    other, gpu = run(4, "cpu", "--logits"), run(3, "cuda", "--logits")
    logits = cpu["last_logits"]
    size = math.sqrt(sum(x * x for x in logits) / len(logits))
    check(all(map(math.isfinite, logits)) and 0.5 < size < 2,
          f"logits of size {size}")
    check(cpu["tokens"] == again["tokens"] and distance(cpu, again) == 0,
          "the same seed gives something else")
    check(cpu["tokens"] != other["tokens"] and distance(cpu, other) > 1,
          "another seed gives the same")
    check(distance(cpu, gpu) < near, f"the GPU is {distance(cpu, gpu)} away")
    if near <= NEAR["f16"]:
        check(cpu["tokens"] == gpu["tokens"], "other tokens on the GPU")
    for program in STAGES:
        check(run(3, "cpu", program=program)["tokens"] == cpu["tokens"],
              "other tokens in stages")
    print(f"{sys.argv[1]}: passed")


main()
