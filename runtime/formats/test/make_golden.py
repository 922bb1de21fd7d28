#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes golden.bin: rows and their values as the Python package `gguf` has them.

usage: make_golden.py golden.bin

The file is a sequence of records, little endian:
  u32 kind (0 dequantise, 1 quantise), char[8] format, u32 elements,
  u32 stored bytes, the stored row, the row as float32.
"""

import struct
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import quants

FORMATS = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
           "Q4_K", "Q5_K", "Q6_K"]
BLOCKS = {"F32": (1, 4), "F16": (1, 2), "BF16": (1, 2), "Q8_0": (32, 34),
          "Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22),
          "Q5_1": (32, 24), "Q4_K": (256, 144), "Q5_K": (256, 176),
          "Q6_K": (256, 210)}
# Byte offsets of the half-precision scales in a block.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0],
          "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
SPECIAL_HALVES = [0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3c00]


def record(kind, name, stored, values):
    return struct.pack("<I8sII", kind, name.lower().encode(), values.size,
                       stored.size) + stored.tobytes() + values.tobytes()


def random_row(rng, name, blocks):
    """Random bytes, with scales that are finite and sometimes special."""
    row = rng.integers(0, 256, (blocks, BLOCKS[name][1]), dtype=np.uint8)
    for offset in SCALES.get(name, []):
        halves = rng.normal(0, 0.1, blocks).astype(np.float16).view(np.uint16)
        halves[:len(SPECIAL_HALVES)] = SPECIAL_HALVES[:blocks]
        rng.shuffle(halves)
        row[:, offset:offset + 2] = halves.view(np.uint8).reshape(-1, 2)
    if name == "F32":
        row = rng.normal(0, 1, blocks).astype(np.float32).view(np.uint8)
    elif name in ("F16", "BF16"):
        halves = row.reshape(-1).view(np.uint16)
        exponent = 0x7c00 if name == "F16" else 0x7f80
        halves[(halves & exponent) == exponent] ^= 0x0400 if name == "F16" else 0x80
        row = halves.view(np.uint8)
    return row.reshape(-1)


def values_to_quantize(rng):
    """Ordinary rows, ties, zeros, one outlier, tiny and huge numbers."""
    rows = rng.normal(0, 1, (16, 32)).astype(np.float32)
    rows[0] = 0
    rows[1] = np.arange(-16, 16)
    rows[2] = np.arange(32) - 15.5
    rows[3, 7] = -1000
    rows[4] *= np.float32(1e-6)
    rows[5] *= np.float32(1e4)
    rows[6] = 3.25
    rows[7, ::2] = -rows[7, 1::2]
    rows[8] = rng.integers(-127, 128, 32)
    rows[8, 0] = 127
    rows[9] = rows[8] * np.float32(0.5)
    rows[9, 0] = -127
    return rows.reshape(-1)


def main():
    rng = np.random.default_rng(20240711)
    out = b""
    for name in FORMATS:
        blocks = 1024 // BLOCKS[name][0] if BLOCKS[name][0] > 1 else 512
        stored = random_row(rng, name, max(blocks, 8))
        # Formats of one element have no blocks to slice by; others do.
        values = quants.dequantize(stored.reshape(1, -1), T[name])
        out += record(0, name, stored, values.reshape(-1).astype(np.float32))
    values = values_to_quantize(rng)
    for name in ["F32", "F16", "BF16", "Q8_0", "Q4_0"]:
        stored = quants.quantize(values.reshape(1, -1), T[name])
        out += record(1, name, stored.reshape(-1).view(np.uint8), values)
    with open(sys.argv[1], "wb") as file:
        file.write(out)


if __name__ == "__main__":
    main()
