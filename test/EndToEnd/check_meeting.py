#!/usr/bin/env python3
"""Checks what two ranks settle before they load anything.

  check_meeting.py openmpi|mpich MPIRUN ./model CPU.json CUDA.json

The program is for CPUs and the emulated GPU; the files are what it generates by
itself on each. A rank is told by its environment that it has no GPU.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

from check_mpi import OPTIONS

MPI, MPIRUN, PROGRAM = sys.argv[1:4]
CPU, CUDA = (json.loads(pathlib.Path(path).read_text())["tokens"]
             for path in sys.argv[4:6])
GENERATE = [PROGRAM, "generate", "--tokens", "5,6,7", "-n", "6", "--json",
            "-t", "1"]
NO_GPU = ["env", "SLUICE_EMULATED_DEVICES=0"]


def run(first, second):
    """Status, output and messages of a job of these two ranks."""
    job = subprocess.run(
        [MPIRUN, *OPTIONS[MPI], "-n", "1", *first, ":", "-n", "1", *second],
        capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL,
        env={"HOME": "/tmp", **os.environ})
    return job.returncode, job.stdout, job.stdout + job.stderr


def check(what, first, second, tokens=None, notes=(), error=None):
    status, out, text = run(first, second)
    said = re.findall(r"^m: error: (.*)$", text, re.M)
    wrong = []
    if error:
        wrong += [] if status != 0 else ["status is 0"]
        # The other rank may repeat it.
        wrong += [] if error in said and {error} == set(said) else [
            f"errors are {said}"]
    else:
        wrong += [] if status == 0 else [f"status is {status}"]
        wrong += [] if status or json.loads(out)["tokens"] == tokens else [
            "other tokens"]
        found = re.findall(r"^.*all ranks use the CPU$", text, re.M)
        wrong += [] if [n for n in found] == list(notes) else [
            f"notes are {found}"]
    if wrong:
        sys.exit(f"{what}: {', '.join(wrong)}\n{text}")
    print(f"{what}: passed")


check("both have GPUs", GENERATE, GENERATE, CUDA)
check("one has none", GENERATE, NO_GPU + GENERATE, CPU,
      ["rank 1: no NVIDIA GPU is here; all ranks use the CPU"])
check("the head has none", NO_GPU + GENERATE, GENERATE, CPU,
      ["rank 0: no NVIDIA GPU is here; all ranks use the CPU"])
check("one must have one", GENERATE + ["--device", "cuda"],
      NO_GPU + GENERATE + ["--device", "cuda"],
      error="rank 1: --device cuda: no NVIDIA GPU is here")
check("other caches", GENERATE, GENERATE + ["--cache-type", "bf16"],
      error="rank 1: its cache type is bf16, the head's is f16")
check("other steps", GENERATE, GENERATE + ["-b", "3"],
      error="rank 1: its number of rows in a step is 5, the head's is 258")
for option, mine, others in (("--transport", "host", "auto"),
                             ("--activations", "bf16", "f32")):
    check(f"other {option}", GENERATE, GENERATE + [option, mine],
          error=f"rank 1: its {option} is {mine}, the head's is {others}")
