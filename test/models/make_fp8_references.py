#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what the models of fp8/ compute: fp8/*/reference.json.

The logits and greedy tokens come from a plain forward pass in float64 over the
numbers that the files have; what quantised the weights is in fp8_weights.py.
Needs the standard library alone.
"""

import json
import math
import operator
import pathlib
import sys

sys.dont_write_bytecode = True

import fp8_weights  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def dot(a, b):
    return sum(map(operator.mul, a, b))


def product(weights, x):
    return [dot(row, x) for row in weights]


class Pass:
    """One sequence, a token at a time."""

    def __init__(self, config, values):
        self.config, self.values = config, values
        self.keys, self.past = [], []

    def norm(self, name, x):
        root = math.sqrt(dot(x, x) / len(x) + self.config["rms_norm_eps"])
        return [v / root * w for v, w in zip(x, self.values[name][0])]

    def rotated(self, head, position):
        half = len(head) // 2
        out = list(head)
        for i in range(half):
            angle = position * self.config["rope_theta"] ** (-i / half)
            cos, sin = math.cos(angle), math.sin(angle)
            out[i] = head[i] * cos - head[i + half] * sin
            out[i + half] = head[i + half] * cos + head[i] * sin
        return out

    def heads(self, name, x):
        rows = product(self.values["model.layers.0.self_attn." + name], x)
        size = self.config["head_dim"]
        return [rows[i:i + size] for i in range(0, len(rows), size)]

    def attend(self, x):
        size, at = self.config["head_dim"], len(self.keys)
        self.keys.append([self.rotated(k, at) for k in self.heads("k_proj", x)])
        self.past.append(self.heads("v_proj", x))
        share = (self.config["num_attention_heads"]
                 // self.config["num_key_value_heads"])
        result = []
        for i, query in enumerate(self.heads("q_proj", x)):
            query, kv = self.rotated(query, at), i // share
            scores = [dot(query, k[kv]) / math.sqrt(size)
                      for k in self.keys]
            shares = [math.exp(s - max(scores)) for s in scores]
            result += [sum(s * v[kv][d] for s, v in zip(shares, self.past))
                       / sum(shares) for d in range(size)]
        return product(self.values["model.layers.0.self_attn.o_proj"], result)

    def logits(self, token):
        values, layer = self.values, "model.layers.0."
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


def case(config, model, length, count=12):
    """Of a prompt after which rounding decides nothing: no two tokens are as
    good."""
    while True:
        prompt = [model.draw.randrange(2, config["vocab_size"])
                  for _ in range(length)]
        made, least = follow(Pass(config, model.values), prompt, count)
        if least > 0.05:
            return made


def follow(run, prompt, count):
    for token in prompt:
        logits = run.logits(token)
    last, greedy, least = logits, [], math.inf
    for _ in range(count):
        first, second = sorted(logits, reverse=True)[:2]
        least = min(least, first - second)
        greedy.append(logits.index(first))
        logits = run.logits(greedy[-1])
    return {"prompt": prompt, "last_logits": last, "greedy": greedy}, least


def main():
    for folder in sorted(HERE.glob("fp8/*/")):
        config = json.loads((folder / "config.json").read_text())
        description = json.loads((folder / "weights.json").read_text())
        model = fp8_weights.Model(config, description)
        cases = [case(config, model, length) for length in (1, 7, 40)]
        (folder / "reference.json").write_text(json.dumps(
            {"architecture": "LlamaForCausalLM", "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
