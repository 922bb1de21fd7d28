# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of tiny models, made of a seed.

weights.json has

  seed      whole number
  strength  how strong weights are: of 1, rows keep about their size in a product;
            more sharpens attention
  layers    how many there are
  tensors   shapes by names; a # in a name stands for the number of each layer

Numbers are float32, and the same on every machine and with every Python: their
bits come from SHAKE-128 of the model's name, the seed and the tensor's name, and
what is done with these is exact or rounded correctly by IEEE 754.
"""

import array
import hashlib
import math
import sys

# A number is the sum of four of 16 bits: near a normal distribution, and at most
# 3.5 deviations from the mean.
PARTS = 4
MEAN = PARTS * 65535 / 2
DEVIATION = math.sqrt(PARTS * (65536 ** 2 - 1) / 12)


def noise(key, count):
    """Numbers of mean 0, in units of 1 / DEVIATION."""
    words = array.array("H", hashlib.shake_128(key.encode()).digest(
        2 * PARTS * count))
    if sys.byteorder == "big":
        words.byteswap()
    return [a + b + c + d - MEAN for a, b, c, d in zip(*[iter(words)] * PARTS)]


def tensor(key, name, shape, strength):
    """Biases and norms are random too, so that one that is left out shows."""
    values = noise(key, math.prod(shape))
    if len(shape) > 1:
        size, mean = strength / math.sqrt(shape[-1]), 0.0
    else:
        size, mean = 0.1 * strength, 0.0 if "bias" in name else 1.0
    size /= DEVIATION
    numbers = array.array("f", [mean + size * value for value in values])
    if sys.byteorder == "big":
        numbers.byteswap()
    return "F32", shape, numbers.tobytes()


def shapes(description):
    """Of all tensors, by their names in order."""
    return dict(sorted(
        (name.replace("#", str(layer)), shape)
        for name, shape in description["tensors"].items()
        for layer in range(description["layers"] if "#" in name else 1)))


def make(model, description):
    """Tensors as safetensors.write has them. model: its name."""
    return {name: tensor(f"{model} {description['seed']} {name}", name, shape,
                         description["strength"])
            for name, shape in shapes(description).items()}
