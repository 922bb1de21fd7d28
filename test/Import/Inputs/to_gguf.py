"""Writes a small Hugging Face model (float32) as a GGUF file.

  to_gguf.py FOLDER FILE [KEY=KIND:VALUE]...    KIND: u32, f32 or str
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "utils"))
from model_files import convert  # noqa: E402

READ = {"u32": int, "f32": float, "str": str}


def change(entry):
    key, _, typed = entry.partition("=")
    kind, _, value = typed.partition(":")
    return key, kind, READ[kind](value)


folder, path, *changes = sys.argv[1:]
convert.to_gguf(folder, path, changes=map(change, changes))
