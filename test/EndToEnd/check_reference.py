#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what a program computes with a reference.json.

The program is either the interpreter or an emitted executable; their options
are spelt alike:

  check_reference.py llama/reference.json --runner 'sluice-run model.mlir'
  check_reference.py llama/reference.json --runner './model generate'

A reference has `cases` (token ids in; the logits of the prompt's last position
and the greedy tokens after it), or `greedy` (a text, its ids, the greedy tokens
and their text) with the `perplexity` of a text:

  check_reference.py demo/reference.json --runner './model generate' \\
      --scorer './model score' --format q8_0

Greedy tokens are compared when a runner is given, the perplexity of `--format`
when a scorer is. Exit status: 0 when everything is as the reference has it, 1
when not, 2 for wrong usage.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile


class Mismatch(Exception):
    """The program answered, and its answer is not the reference's."""


def run_json(command):
    """Runs the command; returns the one JSON object it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Mismatch(
            f"exit status {done.returncode}: {done.stderr.strip()}"
        )
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Mismatch(f"stdout is not one JSON object: {error}") from error


def compare_tokens(actual, expected):
    if actual == expected:
        return
    at = next(
        (i for i, (a, e) in enumerate(zip(actual, expected)) if a != e),
        min(len(actual), len(expected)),
    )
    raise Mismatch(f"tokens differ from number {at} on: "
                   f"{actual[at:at + 4]}, expected {expected[at:at + 4]}")


def compare_logits(actual, expected, tolerance):
    if len(actual) != len(expected):
        raise Mismatch(f"{len(actual)} logits, expected {len(expected)}")
    largest, at = max((abs(a - e), i)
                      for i, (a, e) in enumerate(zip(actual, expected)))
    if not largest <= tolerance:
        raise Mismatch(f"logit {at} is {actual[at]}, expected {expected[at]}")
    return largest


def generate(arguments, prompt_option, prompt, count, *more):
    command = shlex.split(arguments.runner)
    command += [prompt_option, prompt, "-n", str(count), "--ignore-eos",
                "--json", *more, *arguments.extra]
    return run_json(command)


def check_case(case, arguments):
    """A prompt of ids: its last logits and its greedy continuation."""
    prompt = ",".join(map(str, case["prompt"]))
    result = generate(arguments, "--tokens", prompt, len(case["greedy"]),
                      "--logits")
    largest = compare_logits(result["last_logits"], case["last_logits"],
                             arguments.tolerance)
    compare_tokens(result["tokens"], case["greedy"])
    if result["timing"]["prompt_tokens"] != len(case["prompt"]):
        raise Mismatch("timing.prompt_tokens is wrong")
    if result["timing"]["generated_tokens"] != len(case["greedy"]):
        raise Mismatch("timing.generated_tokens is wrong")
    if result["finish_reason"] != "length":
        raise Mismatch(f"finish_reason is {result['finish_reason']}")
    return (f"{len(case['prompt'])} prompt tokens, {len(case['greedy'])} "
            f"greedy tokens, logits within {largest:.1e}")


def check_greedy(case, arguments):
    """A text: how many ids it has, its greedy continuation and its text."""
    result = generate(arguments, "-p", case["prompt"], len(case["tokens"]))
    if result["timing"]["prompt_tokens"] != len(case["prompt_tokens"]):
        raise Mismatch(f"the prompt has {result['timing']['prompt_tokens']} "
                       f"tokens, expected {len(case['prompt_tokens'])}")
    compare_tokens(result["tokens"], case["tokens"])
    if result["text"] != case["text"]:
        raise Mismatch(f"the text is {result['text']!r}, "
                       f"expected {case['text']!r}")
    return f"{case['prompt']!r}, {len(case['tokens'])} greedy tokens"


def check_perplexity(reference, arguments):
    expected = reference[arguments.format]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="",
                                     suffix=".txt") as text:
        text.write(reference["text"])
        text.flush()
        result = run_json(shlex.split(arguments.scorer) +
                          ["-f", text.name, "--json", *arguments.extra])
    if result["tokens"] != reference["tokens"]:
        raise Mismatch(f"the text has {result['tokens']} tokens, "
                       f"expected {reference['tokens']}")
    percent = 100 * (result["perplexity"] / expected - 1)
    if not abs(percent) <= arguments.perplexity_tolerance:
        raise Mismatch(f"the perplexity is {result['perplexity']}, "
                       f"expected {expected}: {percent:+.3f} %")
    return (f"perplexity {result['perplexity']:.4f} of {expected:.4f}, "
            f"{percent:+.4f} %")


def make_checks(reference, arguments):
    """What is to be compared, as functions that say how it went."""
    cases = reference.get("cases", [])
    greedy = reference.get("greedy", [])
    if arguments.limit is not None:
        cases, greedy = cases[:arguments.limit], greedy[:arguments.limit]
    if arguments.runner:
        for case in cases:
            yield lambda case=case: check_case(case, arguments)
        for case in greedy:
            yield lambda case=case: check_greedy(case, arguments)
    if arguments.scorer:
        yield lambda: check_perplexity(reference["perplexity"], arguments)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("reference", help="a reference.json")
    parser.add_argument("--runner", help="the command that generates")
    parser.add_argument("--scorer", help="the command that scores a text")
    parser.add_argument("--format", default="f32",
                        help="whose perplexity is expected (default f32)")
    parser.add_argument("--tolerance", type=float, default=1e-3,
                        help="of a logit (default 1e-3)")
    parser.add_argument("--perplexity-tolerance", type=float, default=0.5,
                        help="in percent (default 0.5)")
    parser.add_argument("--limit", type=int,
                        help="compare only the first so many prompts")
    parser.add_argument("--extra", type=shlex.split, default=[],
                        help="options that every run gets as well")
    arguments = parser.parse_args()
    if not arguments.runner and not arguments.scorer:
        parser.error("give --runner, --scorer or both")
    with open(arguments.reference, encoding="utf-8") as file:
        reference = json.load(file)

    passed = failed = 0
    for check in make_checks(reference, arguments):
        try:
            print("ok:", check())
            passed += 1
        except Mismatch as mismatch:
            print("FAILED:", mismatch)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
