"""Assembles the kernels that sluice-opt (from PATH) generates for modules.

  assemble.py PTXAS MODULE...

Prints a line for each kernel and chip. Fails where ptxas does, and where a
kernel spills registers or has a stack.
"""

import re
import subprocess
import sys

CHIPS = ["sm_80", "sm_90a", "sm_100", "sm_120"]


def generate(module, chip):
    """The PTX of the module's kernels."""
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
        texts[0]).rstrip(b"\0")


def assemble(ptxas, module, chip):
    run = subprocess.run(
        [ptxas, "-v", f"-arch={chip}", "-o", "/dev/null", "/dev/stdin"],
        input=generate(module, chip), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False)
    report = run.stdout.decode()
    kernels = re.findall(r"Function properties for (\S+)\s+(\d+) bytes stack "
                         r"frame, (\d+) bytes spill stores", report)
    if run.returncode or not kernels:
        sys.exit(f"{module}: {chip}:\n{report}")
    for kernel, stack, spills in kernels:
        if stack != "0" or spills != "0":
            sys.exit(f"{module}: {chip}: {kernel}: {stack} bytes of stack, "
                     f"{spills} spilled")
        print(f"{chip} {kernel} spills nothing")


def main():
    ptxas, *modules = sys.argv[1:]
    for module in modules:
        for chip in CHIPS:
            assemble(ptxas, module, chip)


main()
