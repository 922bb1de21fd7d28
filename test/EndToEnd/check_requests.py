#!/usr/bin/env python3
"""Checks that commands give several requests the tokens each has on its own.

  check_requests.py [-n N] [--sampling ARGS] -- COMMAND -- COMMAND ...

Each COMMAND is `sluice-run` with a module. It is given prompts of different
lengths, all at once; the first command also one at a time, and that is what all
tokens and the logits behind each prompt are compared with. Logits are compared
exactly: no sum may know of the rows beside it. Prints how many steps and rows
each command took.
"""

import shlex
import sys

from commands import parse, run_json

# In every test model's vocabulary.
PROMPTS = [[7], list(range(10, 43)), [5, 6, 7, 8], [50, 2, 51, 2, 52, 2, 53]]


def run(command, prompts, options):
    words = [*command, "--logits", "--prefill-chunk", "16"]
    for prompt in prompts:
        words += ["--tokens", ",".join(map(str, prompt))]
    return run_json(words, options)


def answers(requests):
    return [(request["tokens"], request["last_logits"]) for request in requests]


def main():
    options, commands = parse(n=8)
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
