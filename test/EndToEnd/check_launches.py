"""Compares the launches that `sluice-compile --explain` prints with those of steps.

  check_launches.py TABLES EXECUTABLE [OPTION...]

TABLES has what was printed when EXECUTABLE was compiled for the emulated GPU. A
step of one row, and one of as many rows of a prompt as it may have, are executed,
with the options; the emulator counts the nodes of the graphs that were launched.
"""
import os
import re
import subprocess
import sys

MOST = 100  # tokens of a prompt: more than any tile of rows has


def expected(tables):
    """The most rows of a prompt in a step; launches of steps of one row and of as
    many, of all programs together."""
    rows, few, many = MOST, 0, 0
    for line in tables.splitlines():
        if found := re.match(r"main\.s\d+ .* (\d+)$", line):
            rows = min(rows, int(found[1]))
        elif found := re.match(r"launches of a step of (.*) on a GPU$", line):
            programs = len(found[1].split(", "))
        elif found := re.match(r"step +(\d+) +(\d+) ", line):
            few += programs * int(found[1])
            many += programs * int(found[2])
    assert few, "no tables of launches"
    return rows, few, many


def count(command, tokens):
    """The nodes of the graphs that a single step launches."""
    done = subprocess.run(
        [*command, "--device", "cuda", "--ignore-eos", "-n", "1", "--tokens",
         ",".join(["5"] * tokens)],
        env={**os.environ, "SLUICE_EMULATED_COUNT": "1"}, text=True,
        capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr}")
    return int(re.search(r"graphs of (\d+) nodes", done.stderr)[1])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows, few, many = expected(file.read())
    command = [sys.argv[2], "generate", *sys.argv[3:]]
    for tokens, launches in (1, few), (rows, many):
        counted = count(command, tokens)
        if counted != launches:
            sys.exit(f"{sys.argv[2]}: a step of {tokens} rows launched {counted} "
                     f"nodes, and the tables have {launches}")
    print(f"{few} launches, {many} with {rows} rows")


if __name__ == "__main__":
    main()
