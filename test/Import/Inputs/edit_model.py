"""Copies a Hugging Face folder with changes, to make models that tests refuse.

  edit_model.py FROM TO [CHANGE]...
    config.KEY=JSON        sets a key of config.json
    drop=NAME              leaves a tensor out
    rename=NAME,NEW        calls a tensor something else
    copy=NAME,NEW          puts a tensor in twice
    negate=NAME            changes a tensor's values (flips signs; f32)
    reshape=NAME,A,B...    gives a tensor another shape with as many elements
    fill=NAME,HEX          makes all of a tensor's bytes this one
    zeros=NAME,A,B...      makes a tensor zeros of that shape
    retype=NAME,DTYPE      says that a tensor's elements are of another type
    shards=N               spreads the tensors over N files and an index
"""

import json
import math
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "utils"))
from model_files import safetensors  # noqa: E402


def edit(config, tensors, change):
    kind, _, argument = change.partition("=")
    if kind.startswith("config."):
        config[kind[len("config."):]] = json.loads(argument)
        return
    name, *rest = argument.split(",")
    dtype, shape, data = tensors[name]
    if kind == "drop":
        del tensors[name]
    elif kind == "rename":
        tensors[rest[0]] = tensors.pop(name)
    elif kind == "copy":
        tensors[rest[0]] = tensors[name]
    elif kind == "negate":
        flipped = bytearray(data)
        for i in range(3, len(flipped), 4):
            flipped[i] ^= 0x80
        tensors[name] = (dtype, shape, bytes(flipped))
    elif kind == "reshape":
        tensors[name] = (dtype, [int(size) for size in rest], data)
    elif kind == "fill":
        tensors[name] = (dtype, shape, bytes.fromhex(rest[0]) * len(data))
    elif kind == "zeros":
        sizes = [int(size) for size in rest]
        each = len(data) // math.prod(shape)
        tensors[name] = (dtype, sizes, bytes(math.prod(sizes) * each))
    elif kind == "retype":
        tensors[name] = (rest[0], shape, data)
    else:
        sys.exit("unknown change " + change)


def main():
    source, target, *changes = sys.argv[1:]
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    with open(os.path.join(source, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    tensors = safetensors.read(os.path.join(source, "model.safetensors"))

    shards = 1
    for change in changes:
        if change.startswith("shards="):
            shards = int(change[len("shards="):])
        else:
            edit(config, tensors, change)

    with open(os.path.join(target, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    if shards == 1:
        safetensors.write(os.path.join(target, "model.safetensors"), tensors)
        return
    weight_map = {}
    for i in range(shards):
        shard = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        part = dict(list(tensors.items())[i::shards])
        safetensors.write(os.path.join(target, shard), part)
        weight_map.update({name: shard for name in part})
    index = os.path.join(target, "model.safetensors.index.json")
    with open(index, "w", encoding="utf-8") as file:
        json.dump({"metadata": {}, "weight_map": weight_map}, file)


main()
