#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tiny random Llamas with weights in e4m3, and what they compute.

usage: make_models.py [FOLDER]

  tensor   a scale for each tensor (quant_method fp8)
  channel  a scale for each row (compressed-tensors)
  block    a scale for each 128 rows by 128 columns (quant_method fp8)

The logits and greedy tokens of reference.json come from a plain forward pass in
float64 over the numbers that the files have. Needs the standard library alone.
"""

import bisect
import json
import math
import operator
import pathlib
import random
import struct
import sys

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
    def __init__(self, seed, hidden, heads, forward, scheme):
        self.draw = random.Random(seed)
        self.hidden, self.heads, self.kv_heads = hidden, heads, heads // 2
        self.size, self.forward = hidden // heads, forward
        self.vocabulary, self.context, self.scheme = 64, 128, scheme
        self.files, self.values = {}, {}
        self.plain("model.embed_tokens", self.vocabulary, hidden, 0.3)
        kv = self.kv_heads * self.size
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
        self.files[name + ".weight"] = ("BF16", shape, data)

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
        self.files[name + ".weight"] = ("F8_E4M3", [rows, columns],
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
        self.files[name + ".weight_scale" + suffix] = scales

    def config(self):
        ignored = ["lm_head"]
        if self.scheme == "channel":
            quantization = {
                "quant_method": "compressed-tensors",
                "format": "float-quantized",
                "quantization_status": "compressed",
                "global_compression_ratio": None, "kv_cache_scheme": None,
                "ignore": ignored,
                "config_groups": {"group_0": {
                    "targets": ["Linear"], "output_activations": None,
                    "weights": {
                        "num_bits": 8, "type": "float", "symmetric": True,
                        "strategy": "channel", "dynamic": False,
                        "group_size": None, "block_structure": None,
                        "actorder": None, "observer": "minmax",
                        "observer_kwargs": {}},
                    "input_activations": {
                        "num_bits": 8, "type": "float", "symmetric": True,
                        "strategy": "token", "dynamic": True,
                        "group_size": None, "observer": None}}}}
        else:
            quantization = {"quant_method": "fp8",
                            "activation_scheme": "dynamic"}
            if self.scheme == "block":
                quantization |= {"fmt": "e4m3", "weight_block_size": [128, 128],
                                 "modules_to_not_convert": ignored}
        return {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
                "torch_dtype": "bfloat16", "hidden_act": "silu",
                "hidden_size": self.hidden, "head_dim": self.size,
                "intermediate_size": self.forward,
                "max_position_embeddings": self.context,
                "num_attention_heads": self.heads, "num_hidden_layers": 1,
                "num_key_value_heads": self.kv_heads, "rms_norm_eps": 1e-6,
                "rope_theta": 10000.0, "tie_word_embeddings": True,
                "attention_bias": False, "mlp_bias": False,
                "vocab_size": self.vocabulary, "bos_token_id": 0,
                "eos_token_id": 1, "quantization_config": quantization}


def dot(a, b):
    return sum(map(operator.mul, a, b))


def product(weights, x):
    return [dot(row, x) for row in weights]


class Pass:
    """One sequence, a token at a time."""

    def __init__(self, model):
        self.model, self.keys, self.past = model, [], []

    def norm(self, name, x):
        root = math.sqrt(dot(x, x) / len(x) + 1e-6)
        return [v / root * w for v, w in zip(x, self.model.values[name][0])]

    def rotated(self, head, position):
        half = len(head) // 2
        out = list(head)
        for i in range(half):
            angle = position * 10000.0 ** (-i / half)
            cos, sin = math.cos(angle), math.sin(angle)
            out[i] = head[i] * cos - head[i + half] * sin
            out[i + half] = head[i + half] * cos + head[i] * sin
        return out

    def attend(self, x):
        model, size = self.model, self.model.size
        def heads(name):
            rows = product(model.values["model.layers.0.self_attn." + name], x)
            return [rows[i:i + size] for i in range(0, len(rows), size)]
        at = len(self.keys)
        self.keys.append([self.rotated(k, at) for k in heads("k_proj")])
        self.past.append(heads("v_proj"))
        result = []
        for i, query in enumerate(heads("q_proj")):
            query, kv = self.rotated(query, at), i * model.kv_heads // model.heads
            scores = [dot(query, k[kv]) / math.sqrt(size)
                      for k in self.keys]
            shares = [math.exp(s - max(scores)) for s in scores]
            result += [sum(s * v[kv][d] for s, v in zip(shares, self.past))
                       / sum(shares) for d in range(size)]
        return product(model.values["model.layers.0.self_attn.o_proj"], result)

    def logits(self, token):
        values, layer = self.model.values, "model.layers.0."
        x = list(values["model.embed_tokens"][token])
        attended = self.attend(self.norm(layer + "input_layernorm", x))
        x = [a + b for a, b in zip(x, attended)]
        normed = self.norm(layer + "post_attention_layernorm", x)
        gate = product(values[layer + "mlp.gate_proj"], normed)
        up = product(values[layer + "mlp.up_proj"], normed)
        fed = product(values[layer + "mlp.down_proj"],
                      [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)])
        x = [a + b for a, b in zip(x, fed)]
        return product(values["model.embed_tokens"],
                       self.norm("model.norm", x))


def case(model, length, count=12):
    """Of a prompt after which rounding decides nothing: no two tokens are as
    good."""
    while True:
        prompt = [model.draw.randrange(2, model.vocabulary)
                  for _ in range(length)]
        made, least = follow(model, prompt, count)
        if least > 0.05:
            return made


def follow(model, prompt, count):
    run = Pass(model)
    for token in prompt:
        logits = run.logits(token)
    last, greedy, least = logits, [], math.inf
    for _ in range(count):
        first, second = sorted(logits, reverse=True)[:2]
        least = min(least, first - second)
        greedy.append(logits.index(first))
        logits = run.logits(greedy[-1])
    return {"prompt": prompt, "last_logits": last, "greedy": greedy}, least


def write(folder, model):
    folder.mkdir(parents=True, exist_ok=True)
    header, data = {}, b""
    for name, (dtype, shape, content) in model.files.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text(
        json.dumps(model.config(), indent=2) + "\n")
    cases = [case(model, length) for length in (1, 7, 40)]
    (folder / "reference.json").write_text(json.dumps(
        {"architecture": "LlamaForCausalLM", "cases": cases}) + "\n")


def main():
    here = pathlib.Path(__file__).parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    write(folder / "tensor", Model(1, 128, 4, 256, "tensor"))
    write(folder / "channel", Model(2, 128, 4, 256, "channel"))
    write(folder / "block", Model(3, 256, 4, 512, "block"))


if __name__ == "__main__":
    main()
