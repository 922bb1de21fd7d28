#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that planned steps of architectures give the logits of the model.

  check_plans.py MODELS ARCHITECTURE...

Runs each model of MODELS/archs in the phase program, and planned for a CPU and
for CUDA, with the interpreter. Exit status: 1 where logits differ in a bit.
"""
import pathlib
import subprocess
import sys


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def score(module):
    return run("sluice-run", module, "--score", "--json", "--tokens",
               "5,17,3,42,8,11,29,2,31,6,7,9")


def main():
    models = pathlib.Path(sys.argv[1]) / "archs"
    for name in sys.argv[2:]:
        run("sluice-import", models / name, "-o", f"{name}.mlir")
        run("sluice-opt", f"{name}.mlir", "--sluice-fuse-decode",
            "-o", f"{name}.fused.mlir")
        expected = score(f"{name}.fused.mlir")
        for target in ["#sluice.cpu<avx2>", "#sluice.cuda"]:
            planned = f"{name}.planned.mlir"
            run("sluice-opt", f"{name}.fused.mlir",
                f"--sluice-plan=target={target}", "-o", planned)
            if score(planned) != expected:
                sys.exit(f"{name}, planned for {target}: other logits")
        print(f"3 ways of {name}: the same")


if __name__ == "__main__":
    main()
