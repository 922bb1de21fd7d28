"""Checks the PTX of the kernels that sluice-opt (from PATH) generates.

  ptx.py CHIPS MODULE...

Prints a line for each kernel and chip of the list. On chips with dependent launch
a kernel's first act is to let the next one start, and it touches no memory that
kernels write before it has waited for the one before; on others it does neither. Rounding is exact:
each product and sum by itself, without approximations. Nothing is called, and no
memory is a thread's own.
"""

import re
import subprocess
import sys

# What a thread does to memory, or waits for others at.
TOUCHES = re.compile(r"^\s*(?:@!?%p\d+\s+)?"
                     r"(?:(?!ld\.(?:param|global\.nc))(?:ld|st|red|atom)|bar|barrier|shfl|cp)\.")
FORBIDDEN = [r"\b(?:add|sub|mul|fma)\.f32\b", r"\b(?:add|sub|mul)\.f32x2\b",
             r"\.approx", r"\.ftz", r"\.local\b", r"\bcall\b"]


def generate(module, chip):
    """The PTX of the module's kernels for a chip."""
    run = subprocess.run(
        ["sluice-opt", module, f"--convert-sluice-to-cuda=arch={chip}",
         "--sluice-lower-graphs", "--sluice-kernels-to-gpu-binary"],
        stdout=subprocess.PIPE, check=True)
    texts = re.findall(rb'assembly = "(.*)">\]', run.stdout)
    if len(texts) != 1:
        sys.exit(f"{module}: expected one gpu.binary, found {len(texts)}")
    return re.sub(
        rb"\\([0-9A-Fa-f]{2})",
        lambda match: bytes.fromhex(match.group(1).decode()),
        texts[0]).rstrip(b"\0").decode()


def find_fault(body, is_dependent):
    """What is wrong with the instructions of a kernel; nothing: None."""
    for pattern in FORBIDDEN:
        if match := re.search(pattern, body):
            return f"has {match.group()}"
    waits = [line.strip() for line in body.split("\n")
             if "griddepcontrol" in line]
    if not is_dependent:
        return f"has {waits[0]}" if waits else None
    if waits != ["griddepcontrol.launch_dependents;", "griddepcontrol.wait;"]:
        return f"says {waits} to the kernels around it"
    for line in body[:body.index("griddepcontrol.wait")].split("\n"):
        if TOUCHES.match(line):
            return f"does not wait before {line.strip()}"
    return None


def check(module, chip):
    """The names of the kernels, which are as they should be, and their PTX."""
    ptx = generate(module, chip)
    if f".target {chip}\n" not in ptx:
        sys.exit(f"{module}: not for {chip}")
    kernels = re.findall(r"\.entry (\w+)\(.*?^{$(.*?)^}$", ptx, re.M | re.S)
    if not kernels:
        sys.exit(f"{module}: {chip}: no kernels")
    is_dependent = int(re.match(r"sm_(\d+)", chip).group(1)) >= 90
    for name, body in kernels:
        if fault := find_fault(body, is_dependent):
            sys.exit(f"{module}: {chip}: {name} {fault}")
    return [name for name, _ in kernels], ptx


def main():
    chips, *modules = sys.argv[1:]
    for module in modules:
        for chip in chips.split(","):
            for kernel in check(module, chip)[0]:
                print(f"{chip} {kernel}")


if __name__ == "__main__":
    main()
