#!/usr/bin/env python3
"""Checks that commands give several requests the tokens each has on its own.

  check_requests.py [-n N] [--sampling ARGS] -- COMMAND -- COMMAND ...

Each COMMAND is `sluice-run` with a module. It is given prompts of different
lengths, all at once; the first command also one at a time, and that is what all
tokens and the logits behind each prompt are compared with. Logits are compared
exactly: no sum may know of the rows beside it. Prints how many steps and rows
each command took.
"""

import argparse
import json
import shlex
import subprocess
import sys

# In every test model's vocabulary.
PROMPTS = [[7], list(range(10, 43)), [5, 6, 7, 8], [50, 2, 51, 2, 52, 2, 53]]


def split_commands(arguments):
    commands = []
    for word in arguments:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def run(command, prompts, options):
    words = command + ["-n", str(options.n), "--json", "--logits", "--ignore-eos",
                       "--prefill-chunk", "16"]
    words += shlex.split(options.sampling)
    for prompt in prompts:
        words += ["--tokens", ",".join(map(str, prompt))]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(words)}: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def answers(requests):
    return [(request["tokens"], request["last_logits"]) for request in requests]


def main():
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=8)
    parser.add_argument("--sampling", default="")
    options = parser.parse_args(sys.argv[1:at])
    commands = split_commands(sys.argv[at:])
    expected = answers(run(commands[0], [prompt], options) for prompt in PROMPTS)
    if any(len(tokens) != options.n for tokens, _ in expected):
        sys.exit("a request ended early")
    for command in commands:
        found = run(command, PROMPTS, options)
        for number, (one, other) in enumerate(
                zip(answers(found["requests"]), expected, strict=True)):
            for name, a, b in zip(["tokens", "logits"], one, other):
                if a != b:
                    sys.exit(f"{shlex.join(command)}: request {number + 1}: "
                             f"{name}\n  {a}\nexpected\n  {b}")
        print(f"{len(PROMPTS)} requests: {found['steps']} steps, "
              f"{found['rows']} rows")


main()
