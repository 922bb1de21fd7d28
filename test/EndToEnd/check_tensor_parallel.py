#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares models over tensor-parallel groups with their references.

  check_tensor_parallel.py FOLDER...

Each folder holds Hugging Face folders with a reference.json. Each of these models
is split over 2 and over 4 members, cut into two stages, given checkpoints and
split into ranks; the interpreter's logits and tokens are then compared with the
reference's, as check_reference.py does. Prints for each whether it agrees or why
the compiler refused it, which is one line. Exit status: 1 where one disagrees.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).parent / "check_reference.py"
PASSES = ["--sluice-partition-stages=stages=2", "--sluice-fuse-decode",
          "--sluice-insert-checkpoints=max-latency-us=20",
          "--sluice-split-ranks", "--sluice-verify-phase=phase=program"]


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True,
                          text=True, check=False)


def check_model(model, members, folder):
    """What is to be said of it, and whether that is as it should be."""
    whole, split = folder / "model.mlir", folder / "split.mlir"
    done = run("sluice-import", model, "-o", whole)
    if done.returncode:
        return f"not imported: {done.stderr.strip()}", False
    done = run("sluice-opt", whole,
               f"--sluice-shard-tensors=tensor-parallel={members}", *PASSES,
               "-o", split)
    errors = re.findall(r"error: (.*)", done.stderr)
    if done.returncode:
        return f"refused: {' | '.join(errors)}", len(errors) == 1
    done = run(sys.executable, CHECK, model / "reference.json", "--runner",
               f"sluice-run {split}")
    if done.returncode:
        return f"FAILED: {done.stdout.strip()}", False
    return "ok", True


def main():
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for models in map(pathlib.Path, sys.argv[1:]):
            for reference in sorted(models.glob("*/reference.json")):
                for members in (2, 4):
                    model = reference.parent
                    message, is_good = check_model(model, members,
                                                   pathlib.Path(folder))
                    print(f"{model.name} over {members}: {message}")
                    good &= is_good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
