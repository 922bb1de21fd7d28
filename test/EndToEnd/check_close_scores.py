#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that programs find every token about as probable as the first one does.

  check_close_scores.py --within X -- ./one -- ./other -- ...

Each of ./one is an executable; `score` is added. Prints the largest difference of
a token's log-probability, and how many are not the same bits: where the sums are
added up in another order, some are not.
"""
import argparse
import json
import subprocess
import sys

TEXT = ("It was a bright cold day in April, and the clocks were striking "
        "thirteen. def main(): print('the result is', 42)")


def score(command):
    done = subprocess.run([*command, "score", "--json", "-p", TEXT],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["token_logprobs"][1:]


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--within", type=float, required=True)
    args = parser.parse_args(sys.argv[1:at])
    first, *others = " ".join(sys.argv[at + 1:]).split(" -- ")
    expected = score(first.split())
    assert len(expected) > 20
    for other in others:
        found = score(other.split())
        assert len(found) == len(expected)
        worst = max(abs(a - b) for a, b in zip(expected, found))
        differ = sum(a != b for a, b in zip(expected, found))
        print(f"at most {worst:.2e} apart, {differ} of {len(found)} differ")
        if worst > args.within:
            sys.exit(f"{other}: {worst} is more than {args.within}")
    print(f"{len(others)} within {args.within}")


main()
