"""Reads and writes safetensors files."""
import json
import struct


def read(path):
    """{name: (dtype, shape, bytes)} in the file's order."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: (info["dtype"], info["shape"], data[slice(*info["data_offsets"])])
        for name, info in header.items()
    }


def write(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, content) in tensors.items():
        end = offset + len(content)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, content in tensors.values():
            file.write(content)
