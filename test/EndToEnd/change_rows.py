#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies a model whose table of tokens becomes longer or shorter.

  change_rows.py FOLDER ROWS COPY

FOLDER is a Hugging Face model with one table for embedding and output. What its
copy has more is repeated from the table's beginning, so that padding is not easily
told from tokens; the tokenizer is the same. Needs the standard library alone.
"""

import json
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "utils"))

from model_files import safetensors  # noqa: E402

TABLE = "model.embed_tokens.weight"


def main():
    folder, rows, copy = pathlib.Path(sys.argv[1]), int(sys.argv[2]), \
        pathlib.Path(sys.argv[3])
    shutil.copytree(folder, copy)
    path = copy / "config.json"
    config = json.loads(path.read_text())
    config["vocab_size"] = rows
    path.write_text(json.dumps(config))
    path = copy / "model.safetensors"
    tensors = safetensors.read(path)
    kind, (count, width), content = tensors[TABLE]
    row = len(content) // count
    tensors[TABLE] = (kind, [rows, width],
                      (content + content)[:rows * row])
    safetensors.write(path, tensors)


main()
