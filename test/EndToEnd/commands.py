"""Command lines that are compared with each other.

  check_something.py [-n N] [--sampling ARGS] [--logprobs] -- COMMAND -- COMMAND ...
"""

import argparse
import json
import shlex
import subprocess
import sys


def parse(n):
    """The options, with `n` as -n's default, and the commands."""
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=n)
    parser.add_argument("--sampling", default="")
    parser.add_argument("--logprobs", action="store_true",
                        help="compare log-probabilities, to the last digit")
    options = parser.parse_args(sys.argv[1:at])
    commands = []
    for word in sys.argv[at:]:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    return options, commands


def run_json(words, options):
    """What the command prints; ends the check where it fails."""
    words = [*words, "-n", str(options.n), "--json", "--ignore-eos",
             *shlex.split(options.sampling),
             *(["--logprobs", "3"] if options.logprobs else [])]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(words)}: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)
