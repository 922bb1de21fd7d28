#!/usr/bin/env python3
"""Checks that commands compute the same up to the rounding of f32.

  check_near.py [-n N] -- COMMAND -- COMMAND ...

Each COMMAND takes `--tokens`, `-n`, `--json` and `--logits`, as `sluice-run` and
executables do. The logits behind each prompt are at most 1e-4 from those of the
first command, and the tokens are the same.
"""
import sys

from commands import parse, run_json

PROMPTS = [[7], list(range(10, 43)), [50, 2, 51, 2, 52, 2, 53]]
NEAR = 1e-4


def main():
    options, commands = parse(4)
    for prompt in PROMPTS:
        first, *others = [
            run_json([*command, "--logits", "--tokens",
                      ",".join(map(str, prompt))], options)
            for command in commands]
        first = first.get("requests", [first])[0]
        for command, other in zip(commands[1:], others):
            other = other.get("requests", [other])[0]
            worst = max(abs(a - b) for a, b in zip(first["last_logits"],
                                                   other["last_logits"],
                                                   strict=True))
            if worst > NEAR or first["tokens"] != other["tokens"]:
                sys.exit(f"{' '.join(command)}: logits {worst} apart, tokens "
                         f"{other['tokens']}, not {first['tokens']}")
    print(f"{len(commands)} commands: near")


if __name__ == "__main__":
    main()
