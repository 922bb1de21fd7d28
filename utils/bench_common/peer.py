"""What is measured beside llama.cpp: its programs, and files for both."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from .sections import ROOT


def require_program(name, folder=None):
    """The path of one of llama.cpp's programs. Looked for in `folder`, in
    LLAMA_CPP_BIN and where commands are; without it the measurement ends."""
    for place in (folder, os.environ.get("LLAMA_CPP_BIN")):
        if place and (path := pathlib.Path(place, name)).exists():
            return str(path)
    path = shutil.which(name)
    if not path:
        raise SystemExit(f"no {name} found: see --llama-bin")
    return path


def version_of(program):
    """What one of llama.cpp's programs calls its version."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True)
    found = re.search(r"version: (.*)", told.stdout + told.stderr)
    return found[1] if found else "unknown version"


def instructions_of(folder, model):
    """The vector instructions that llama.cpp's code for processors was built
    with, as its llama-completion says."""
    told = subprocess.run(
        [require_program("llama-completion", folder), "-m", model, "-n", "1",
         "-p", "a", "-c", "64", "-no-cnv", "--no-warmup"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = re.findall(r"(\S+) = 1\b", told.stdout + told.stderr)
    return [name for name in found if name.startswith(("AVX", "AMX"))]


def random_model(work, shape, fmt, tools=ROOT / "build/bin", cpu="native"):
    """A model's file of random weights, made where it is missing, and its
    executable for a CPU, which has packed its weights."""
    work.mkdir(parents=True, exist_ok=True)
    model = work / f"{shape}-{fmt}.gguf"
    if not model.exists():
        part = model.with_suffix(".part")
        run([sys.executable, ROOT / "utils/make-random-gguf.py", "--shape",
             shape, "--type", fmt, "-o", part])
        part.rename(model)
    program = work / f"{shape}-{fmt}-{cpu}"
    run([tools / "sluice-compile", model, "--cpu", cpu, "-o", program])
    run([program, "generate", "--tokens", "5", "-n", "1"])
    return model, program


def run(command):
    """What it prints. A command that fails ends the measurement with what it
    says."""
    command = list(map(str, command))
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}: "
                         + done.stderr.strip()[-2000:])
    return done.stdout
