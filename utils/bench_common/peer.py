"""What is measured beside llama.cpp: its programs, and files for both."""
import os
import pathlib
import re
import shutil
import sys

from .processes import fail, run, said
from .sections import ROOT

THREADS = 2  # of either program, where a section does not say otherwise


def require_program(name, folder=None):
    """The path of one of llama.cpp's programs. Looked for in `folder`, or else in
    LLAMA_CPP_BIN and where commands are; without it the measurement ends."""
    places = folder or os.pathsep.join(
        filter(None, map(os.environ.get, ("LLAMA_CPP_BIN", "PATH"))))
    path = shutil.which(name, path=places)
    if not path:
        fail(f"no {name} found{f' in {folder}' if folder else ''}: see --llama-bin")
    return path


def version_of(program):
    """What one of llama.cpp's programs calls its version."""
    found = re.search(r"version: (.*)", said([program, "--version"]))
    return found[1] if found else "unknown version"


def instructions_of(folder, model):
    """The vector instructions that llama.cpp's code for processors was built
    with, as its llama-completion says."""
    told = said([require_program("llama-completion", folder), "-m", model, "-n",
                 "1", "-p", "a", "-c", "64", "-no-cnv", "--no-warmup"])
    return [name for name in re.findall(r"(\S+) = 1\b", told)
            if name.startswith(("AVX", "AMX"))]


def random_model(work, shape, fmt, tools=ROOT / "build/bin", cpu="native"):
    """A model's file of random weights, made where it is missing, and its
    executable for a CPU, which has packed its weights."""
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{work}: {error.strerror}")
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
