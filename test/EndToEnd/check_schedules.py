#!/usr/bin/env python3
"""Checks that every command given continues prompts with the same tokens.

  check_schedules.py [-n N] [--sampling ARGS] -- COMMAND -- COMMAND ...

Each COMMAND is the start of a `generate` command line (of an executable, or
`sluice-run module`); prompt, length and sampling are added. The first one is
what the others are compared with.
"""

import argparse
import json
import shlex
import subprocess
import sys

PROMPTS = ["Once upon a time", "def main():\n    ", "The result is"]


def split_commands(arguments):
    commands = []
    for word in arguments:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def generate(command, prompt, options):
    words = command + ["-p", prompt, "-n", str(options.n), "--json", "--ignore-eos"]
    words += shlex.split(options.sampling)
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(words)}: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["tokens"]


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=40)
    parser.add_argument("--sampling", default="")
    options = parser.parse_args(sys.argv[1:at])
    reference, *others = split_commands(sys.argv[at:])
    if not others:
        sys.exit("nothing to compare with")
    for prompt in PROMPTS:
        expected = generate(reference, prompt, options)
        if len(expected) != options.n:
            sys.exit(f"{shlex.join(reference)}: {len(expected)} tokens")
        for command in others:
            found = generate(command, prompt, options)
            if found != expected:
                sys.exit(
                    f"{shlex.join(command)} on {prompt!r}:\n"
                    f"  {found}\nexpected\n  {expected}"
                )
    print(f"{len(others)} commands agree with the first on {len(PROMPTS)} prompts")


main()
