#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a program's output does not depend on how its steps are made up.

  check_identity.py ./model [--tokens 5,6,...] [--extra='--cache-type q8_0']

The same request is computed with its prompt in chunks of 1, 7 and 64 rows, with
1 to 17 batch mates sharing every step, and with 1 to 3 threads. Tokens, the
prompt's last logits and every token's log-probability must be the same to the
last digit (floats are printed so that they read back exactly). Exit status: 0
when they are, 1 when not.
"""

import argparse
import json
import shlex
import subprocess
import sys


def generate(program, tokens, extra):
    command = [program, "generate", "--tokens", tokens, "-n", "12", "--json",
               "--ignore-eos", "--logits", "--logprobs", "4", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(extra)}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    for measured in ("timing", "tokens_per_second", "speculation", "draft",
                     "stages", "traffic"):
        result.pop(measured, None)
    return result


def variants():
    for chunk in (1, 7, 64):
        yield ["--prefill-chunk", str(chunk)]
    for company in range(1, 18):
        yield ["--company", str(company)]
    for threads in (1, 2, 3):
        yield ["--threads", str(threads)]
    yield ["--company", "17", "--prefill-chunk", "7", "--threads", "2"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    default = ",".join(str(2 + 37 * i % 300) for i in range(70))
    parser.add_argument("--tokens", default=default)
    parser.add_argument("--extra", type=shlex.split, default=[],
                        help="options that every run gets as well")
    args = parser.parse_args()
    alone = generate(args.program, args.tokens, args.extra)
    assert len(alone["tokens"]) == 12 and len(alone["last_logits"]) > 1
    count = 0
    for extra in variants():
        if generate(args.program, args.tokens, args.extra + extra) != alone:
            sys.exit(f"the output differs with {' '.join(extra)}")
        count += 1
    print(f"{count} variants, all the same")


if __name__ == "__main__":
    main()
