#!/usr/bin/env python3
"""Checks that every command given continues prompts with the same tokens.

  check_schedules.py [-n N] [--sampling ARGS] [--logprobs] -- COMMAND -- COMMAND ...

Each COMMAND is the start of a `generate` command line (of an executable, or
`sluice-run module`); prompt, length and sampling are added. The first one is
what the others are compared with.
"""

import shlex
import sys

from commands import parse, run_json

PROMPTS = ["Once upon a time", "def main():\n    ", "The result is"]


def generate(command, prompt, options):
    """Tokens, and with --logprobs what the model thought of them and of others."""
    result = run_json([*command, "-p", prompt], options)
    return result["tokens"], result["logprobs"] if options.logprobs else None


def main():
    options, (reference, *others) = parse(n=40)
    if not others:
        sys.exit("nothing to compare with")
    for prompt in PROMPTS:
        expected = generate(reference, prompt, options)
        if len(expected[0]) != options.n:
            sys.exit(f"{shlex.join(reference)}: {len(expected[0])} tokens")
        for command in others:
            found = generate(command, prompt, options)
            if found != expected:
                sys.exit(
                    f"{shlex.join(command)} on {prompt!r}:\n"
                    f"  {found}\nexpected\n  {expected}"
                )
    print(f"{len(others)} commands agree with the first on {len(PROMPTS)} prompts")


main()
