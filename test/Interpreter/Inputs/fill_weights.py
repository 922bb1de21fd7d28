#!/usr/bin/env python3
"""Makes the weights' file of a module whose weights are all stored as f32.

  fill_weights.py MODULE.mlir FOLDER

Writes FOLDER/model.mlir, the module with its file, and FOLDER/weights.bin, random
numbers of a size that keeps rows about as large as they were.
"""
import math
import pathlib
import random
import re
import struct
import sys

SAMPLES, SAMPLE, HEADER = 256, 4096, 1 << 20


def fnv1a(data, value=0xcbf29ce484222325):
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


def identity(data):
    """As fileIdentity() of runtime/base/FileIdentity.h."""
    value = fnv1a(struct.pack("<Q", len(data)))
    if len(data) < 2 * HEADER:
        return f"{fnv1a(data, value):016x}"
    value = fnv1a(data[:HEADER], value)
    last = len(data) - SAMPLE
    for i in range(1, SAMPLES + 1):
        at = last // SAMPLES * i + last % SAMPLES * i // SAMPLES
        value = fnv1a(data[at:at + SAMPLE], value)
    return f"{value:016x}"


def main():
    module = pathlib.Path(sys.argv[1]).read_text()
    folder = pathlib.Path(sys.argv[2])
    numbers = random.Random(1)
    data = bytearray()
    for offset, shape in re.findall(
            r"sluice.weight @\S+ in @f at (\d+) stored f32 : tensor<([\dx]+)xf32>",
            module):
        sizes = [int(size) for size in shape.split("x")]
        count = math.prod(sizes)
        scale = 1 / math.sqrt(sizes[-1]) if len(sizes) > 1 else 1
        end = int(offset) + 4 * count
        data.extend(bytes(max(0, end - len(data))))
        struct.pack_into(f"<{count}f", data, int(offset),
                         *(numbers.gauss(0, scale) for _ in range(count)))
    path = (folder / "weights.bin").resolve()
    path.write_bytes(data)
    module, changed = re.subn(
        r'sluice.file @f path "[^"]*" size \d+ identity "[^"]*"',
        f'sluice.file @f path "{path}" size {len(data)} '
        f'identity "{identity(bytes(data))}"', module)
    assert changed == 1, "the module has one file, @f"
    (folder / "model.mlir").write_text(module)


if __name__ == "__main__":
    main()
