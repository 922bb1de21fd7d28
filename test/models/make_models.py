#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the models that tests and the README's commands read.

usage: make_models.py FOLDER PART...

PART is a folder beside this script. FOLDER/PART becomes a mirror of it: links to
its files, and what is made of them:

  demo/target-TYPE.gguf   of demo/target, rounded to f16, q8_0 and q4_0
  */*/model.safetensors   of a weights.json (seeded_weights.py, fp8_weights.py)

What else lies in FOLDER/PART is removed. Needs the standard library alone.
"""

import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "utils"))

import fp8_weights  # noqa: E402
import seeded_weights  # noqa: E402
from model_files import convert, safetensors  # noqa: E402

# What weights are made of: no file of a model.
DESCRIPTION = "weights.json"
# Of each Hugging Face folder, the types of the GGUF files to make of it.
GGUF_TYPES = {"demo/target": ["f16", "q8_0", "q4_0"]}


def replace(path, make):
    """Makes a file that is never seen half written, and never writes through a
    link that lies at its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    make(partial)
    partial.replace(path)


def link(source, path):
    aim = os.path.relpath(source, path.parent)
    if not (path.is_symlink() and os.readlink(path) == aim):
        replace(path, lambda partial: partial.symlink_to(aim))


def sources(part):
    return [path for path in sorted((HERE / part).rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts]


def make_weights(source, path):
    """A tiny model's, out of its weights.json."""
    description = json.loads(source.read_text())
    if "fp8" in description:
        config = json.loads((source.parent / "config.json").read_text())
        tensors = fp8_weights.Model(config, description).tensors
    else:
        tensors = seeded_weights.make(source.parent.name, description)
    replace(path, lambda partial: safetensors.write(partial, tensors))


def make_gguf(source, path, form):
    replace(path, lambda partial: convert.to_gguf(source, partial, form))


def mirror(folder, part):
    """Makes all that belongs there; returns its paths."""
    paths = []
    for source in sources(part):
        path = folder / source.relative_to(HERE)
        if source.name == DESCRIPTION:
            path = path.with_name("model.safetensors")
            make_weights(source, path)
        else:
            link(source, path)
        paths.append(path)
    for model, types in GGUF_TYPES.items():
        for form in types if model.startswith(part + "/") else ():
            paths.append(folder / f"{model}-{form}.gguf")
            make_gguf(HERE / model, paths[-1], form)
    return paths


def remove_others(folder, paths):
    """Removes all below the folder that is neither one of these nor around one."""
    wanted = {parent for path in paths for parent in (path, *path.parents)}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path in wanted:
            continue
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1]).resolve()
    for part in sys.argv[2:]:
        if not (HERE / part).is_dir():
            print(f"make_models.py: no folder {HERE / part}", file=sys.stderr)
            return 1
        remove_others(folder / part, mirror(folder, part))
    return 0


if __name__ == "__main__":
    sys.exit(main())
