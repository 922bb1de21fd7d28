"""Assembles the kernels that sluice-opt (from PATH) generates for modules.

  assemble.py PTXAS CHIPS MODULE...

Prints a line for each kernel and chip of the list. Fails where ptxas does, where
a kernel spills registers or has a stack, and where its PTX is not as ptx.py wants
it.
"""

import re
import subprocess
import sys

import ptx


def assemble(ptxas, module, chip):
    names, text = ptx.check(module, chip)
    run = subprocess.run(
        [ptxas, "-v", f"-arch={chip}", "-o", "/dev/null", "/dev/stdin"],
        input=text.encode(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False)
    report = run.stdout.decode()
    kernels = re.findall(r"Function properties for (\S+)\s+(\d+) bytes stack "
                         r"frame, (\d+) bytes spill stores", report)
    if not kernels:
        # Of CUDA 13.0.
        kernels = re.findall(r"entry function '(\S+)' for.*\s+(\d+) bytes stack "
                             r"frame, (\d+) bytes spill stores", report)
    if run.returncode or sorted(names) != sorted(k[0] for k in kernels):
        sys.exit(f"{module}: {chip}:\n{report}")
    for kernel, stack, spills in kernels:
        if stack != "0" or spills != "0":
            sys.exit(f"{module}: {chip}: {kernel}: {stack} bytes of stack, "
                     f"{spills} spilled")
        print(f"{chip} {kernel} spills nothing")


def main():
    ptxas, chips, *modules = sys.argv[1:]
    for module in modules:
        for chip in chips.split(","):
            assemble(ptxas, module, chip)


main()
