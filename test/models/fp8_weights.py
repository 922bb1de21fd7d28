# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in e4m3 of tiny Llamas of one layer, made of a seed.

weights.json has the `seed`, and under `fp8` what shares a scale:

  tensor   a whole tensor (quant_method fp8)
  channel  a row (compressed-tensors)
  block    128 rows by 128 columns (quant_method fp8)
"""

import bisect
import math
import random
import struct

LARGEST = 448.0


def e4m3(bits):
    exponent, mantissa = bits >> 3 & 15, bits & 7
    size = (math.ldexp(mantissa, -9) if exponent == 0
            else math.ldexp(8 + mantissa, exponent - 10))
    return -size if bits & 0x80 else size


NUMBERS = [e4m3(bits) for bits in range(0x7f)]
MIDDLES = [(a + b) / 2 for a, b in zip(NUMBERS, NUMBERS[1:])]


def to_e4m3(value):
    """Rounded to nearest, halves to even, which is the even bits."""
    size = abs(value)
    bits = bisect.bisect_left(MIDDLES, size)
    if bits < len(MIDDLES) and MIDDLES[bits] == size:
        bits += bits & 1
    return bits | (0x80 if math.copysign(1, value) < 0 else 0)


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bf16_bits(value):
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return bits + 0x7fff + (bits >> 16 & 1) >> 16


def bf16(value):
    return struct.unpack("<f", struct.pack("<I", bf16_bits(value) << 16))[0]


class Model:
    """`tensors`, as safetensors.write has them, and the `values` that they stand
    for, values[name][row][column]."""

    def __init__(self, config, description):
        self.draw = random.Random(description["seed"])
        self.scheme = description["fp8"]
        self.tensors, self.values = {}, {}
        hidden, forward = config["hidden_size"], config["intermediate_size"]
        kv = config["num_key_value_heads"] * config["head_dim"]
        self.plain("model.embed_tokens", config["vocab_size"], hidden, 0.3)
        for name, rows, columns in (
                ("self_attn.q_proj", hidden, hidden),
                ("self_attn.k_proj", kv, hidden),
                ("self_attn.v_proj", kv, hidden),
                ("self_attn.o_proj", hidden, hidden),
                ("mlp.gate_proj", forward, hidden),
                ("mlp.up_proj", forward, hidden),
                ("mlp.down_proj", hidden, forward)):
            self.quantised("model.layers.0." + name, rows, columns)
        for name in ("layers.0.input_layernorm",
                     "layers.0.post_attention_layernorm", "norm"):
            self.plain("model." + name, 1, hidden, 0.1, 1.0)

    def plain(self, name, rows, columns, deviation, mean=0.0):
        values = [[bf16(self.draw.gauss(mean, deviation))
                   for _ in range(columns)] for _ in range(rows)]
        data = b"".join(struct.pack("<H", bf16_bits(v)) for r in values
                        for v in r)
        shape = [rows, columns] if rows > 1 else [columns]
        self.values[name] = values
        self.tensors[name + ".weight"] = ("BF16", shape, data)

    def side(self, rows, columns):
        """Rows and columns that share a scale."""
        return {"tensor": (rows, columns), "channel": (1, columns),
                "block": (128, 128)}[self.scheme]

    def quantised(self, name, rows, columns):
        """Rows and columns of different sizes, so that every scale counts."""
        sizes = [self.draw.uniform(0.2, 1.8) for _ in range(rows)]
        across = [self.draw.uniform(0.5, 1.5) for _ in range(columns // 128)]
        weights = [[self.draw.gauss(0, 2 / math.sqrt(columns)) * sizes[r]
                    * across[c // 128] for c in range(columns)]
                   for r in range(rows)]
        high, wide = self.side(rows, columns)
        grid = []
        values = [[0.0] * columns for _ in range(rows)]
        numbers = [bytearray(columns) for _ in range(rows)]
        for top in range(0, rows, high):
            for left in range(0, columns, wide):
                block = [(r, c) for r in range(top, min(rows, top + high))
                         for c in range(left, min(columns, left + wide))]
                largest = max(abs(weights[r][c]) for r, c in block)
                rounded = bf16 if self.scheme == "channel" else f32
                scale = rounded(largest / LARGEST)
                grid.append(scale)
                for r, c in block:
                    numbers[r][c] = to_e4m3(weights[r][c] / scale)
                    bits = numbers[r][c]
                    values[r][c] = e4m3(bits) * scale
        self.values[name] = values
        self.tensors[name + ".weight"] = ("F8_E4M3", [rows, columns],
                                        b"".join(numbers))
        tall, broad = -(-rows // high), -(-columns // wide)
        if self.scheme == "tensor":
            scales = ("F32", [], struct.pack("<f", *grid))
        elif self.scheme == "channel":
            scales = ("BF16", [rows, 1],
                      struct.pack(f"<{rows}H", *map(bf16_bits, grid)))
        else:
            scales = ("F32", [tall, broad],
                      struct.pack(f"<{len(grid)}f", *grid))
        suffix = "_inv" if self.scheme == "block" else ""
        self.tensors[name + ".weight_scale" + suffix] = scales
