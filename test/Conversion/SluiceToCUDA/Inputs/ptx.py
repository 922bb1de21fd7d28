"""Checks the PTX of the kernels that sluice-opt (from PATH) generates.

  ptx.py CHIPS MODULE...

Prints a line for each kernel and chip of the list. On chips with dependent launch
a kernel's first act is to let the next one start, and before it has waited for the
one before it loads weights and tables alone; on others it does neither. By the
instruction for memory that nobody writes while a kernel is there, it loads nothing
else at any time. Rounding is exact: each product and sum by itself, without
approximations. Nothing is called, and no memory is a thread's own.
"""

import re
import subprocess
import sys
from collections import defaultdict

# What a thread does to memory, or waits for others at.
TOUCHES = re.compile(r"^(?:(?!ld\.param)(?:ld|st|red|atom)|bar|barrier|shfl|cp)\.")
FORBIDDEN = [r"\b(?:add|sub|mul|fma)\.f32\b", r"\b(?:add|sub|mul)\.f32x2\b",
             r"\.approx", r"\.ftz", r"\.local\b", r"\bcall\b"]
REGISTER = re.compile(r"%\w+")


def convert(module, *passes):
    return subprocess.run(["sluice-opt", module, *passes],
                          stdout=subprocess.PIPE, check=True).stdout


def generate(module, chip):
    """The PTX of the module's kernels for a chip."""
    output = convert(module, "--sluice-plan=target=#sluice.cuda",
                     f"--convert-sluice-to-cuda=arch={chip}",
                     "--sluice-kernels-to-gpu-binary")
    texts = re.findall(rb'assembly = "(.*)">\]', output)
    if len(texts) != 1:
        sys.exit(f"{module}: expected one gpu.binary, found {len(texts)}")
    return re.sub(
        rb"\\([0-9A-Fa-f]{2})",
        lambda match: bytes.fromhex(match.group(1).decode()),
        texts[0]).rstrip(b"\0").decode()


def find_constants(module, chip):
    """The parameters of each kernel that weights and tables are given for."""
    text = convert(module, "--sluice-plan=target=#sluice.cuda",
                     f"--convert-sluice-to-cuda=arch={chip}").decode()
    constants = {}
    for kernel, operands in re.findall(
            r"kernel @kernels::@(\w+) threads \d+ blocks \d+(.*) {$", text, re.M):
        reads, weights = (
            re.findall(r"%\S+ = %\S+ :", found.group(1)) if found else []
            for found in (re.search(rf" {clause}\((.*?)\)", operands)
                          for clause in ("reads", "weights")))
        # The number of rows is the first parameter.
        given = set(range(1 + len(reads), 1 + len(reads) + len(weights)))
        if constants.setdefault(kernel, given) != given:
            sys.exit(f"{module}: {kernel} is given weights here and rows there")
    return defaultdict(set, constants)


class Body:
    """The instructions of a kernel, and the parameters that addresses are of."""

    def __init__(self, name, text):
        lines = (re.sub(r"^@!?%p\d+\s+", "", line.strip())
                 for line in text.split("\n"))
        self.lines = [line for line in lines if line and line[0] not in "/.{}$"]
        self.parameter = re.compile(rf"\[{name}_param_(\d+)\]")
        self.sources = {}
        # Registers are assigned before they are used but for loops.
        for _ in range(2):
            for line in self.lines:
                self.trace(line)

    def trace(self, line):
        target, *used = REGISTER.findall(line) or [None]
        if target is None or re.match(r"st\.|ld\.(?!param)", line):
            return
        found = self.sources.setdefault(target, set())
        found.update(map(int, self.parameter.findall(line)))
        for register in used:
            found |= self.sources.get(register, set())

    def is_of(self, line, constants):
        """Whether a load's address is of some of these parameters alone."""
        address = re.search(r"\[(%\w+)", line)
        found = self.sources.get(address.group(1), set()) if address else set()
        return bool(found) and found <= constants


def find_fault(name, text, is_dependent, constants):
    """What is wrong with the instructions of a kernel; nothing: None."""
    for pattern in FORBIDDEN:
        if match := re.search(pattern, text):
            return f"has {match.group()}"
    body = Body(name, text)
    for line in body.lines:
        if line.startswith("ld.global.nc") and not body.is_of(line, constants):
            return f"has {line} for rows"
    waits = [line for line in body.lines if line.startswith("griddepcontrol")]
    if not is_dependent:
        return f"has {waits[0]}" if waits else None
    if waits != ["griddepcontrol.launch_dependents;", "griddepcontrol.wait;"]:
        return f"says {waits} to the kernels around it"
    for line in body.lines[:body.lines.index("griddepcontrol.wait;")]:
        if TOUCHES.match(line) and not (line.startswith("ld.global") and
                                        body.is_of(line, constants)):
            return f"does not wait before {line}"
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
    constants = find_constants(module, chip)
    for name, text in kernels:
        if fault := find_fault(name, text, is_dependent, constants[name]):
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
