"""Checks the table of launches in docs/RationaleCuda.md.

  check_launches.py ROOT FOLDER

Each line has to be what `sluice-compile --explain` prints of its shape, of which a
file of holes is made in FOLDER.
"""
import pathlib
import re
import subprocess
import sys

ROOT, FOLDER = map(pathlib.Path, sys.argv[1:])


def explain(shape):
    """The line that the table should have."""
    model = FOLDER / "shape.gguf"
    subprocess.run([sys.executable, ROOT / "utils/describe-model", "--shape",
                    shape, "--type", "bf16", "-o", model], check=True)
    text = subprocess.run(
        ["sluice-compile", "--target", "cuda", "--explain", model], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    size = r"([\d.]+ [KMG]iB)"
    # The first layer and the last may differ from the others.
    last = re.findall(r"^layers? (?:\d+-)?(\d+)", text, re.MULTILINE)[-1]
    few, many, generated, weights = re.search(
        rf"^layers \d+-\d+, each +(\d+) +(\d+) +(\d+) +{size}", text,
        re.MULTILINE).groups()
    step, _, _, bytes_of_step = re.search(
        rf"^step +(\d+) +(\d+) +(\d+) +{size}", text, re.MULTILINE).groups()
    return [shape, str(int(last) + 1), few, generated, many, weights, step,
            bytes_of_step]


def main():
    text = (ROOT / "docs/RationaleCuda.md").read_text(encoding="utf-8")
    table = re.search(r"\| bf16 \| layers .*\n\|[-|]+\n((?:\|.*\n)+)", text)
    lines = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in table[1].splitlines()]
    for line in lines:
        expected = explain(line[0])
        if line != expected:
            sys.exit(f"{line} should be {expected}")
    print(f"{len(lines)} shapes")


if __name__ == "__main__":
    main()
