"""Writes GGUF files of version 3.

A value of the metadata has one of the kinds of KINDS, or is a list of them: a
kind in brackets, as [str]. A shape is given outermost size first, as numpy and
safetensors have it; files have it the other way round.
"""
import math
import struct

# Numbers of the kinds of values, and how struct packs them.
KINDS = {"u32": (4, "<I"), "i32": (5, "<i"), "f32": (6, "<f"),
         "bool": (7, "<?"), "str": (8, None)}
LIST = 9
# Numbers of types of tensors, elements and bytes of a block.
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18),
         "q8_0": (8, 32, 34), "q4_k": (12, 256, 144), "q6_k": (14, 256, 210),
         "bf16": (30, 1, 2)}
ALIGNMENT = 32


def padded(count):
    return -(-count // ALIGNMENT) * ALIGNMENT


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _content(kind, value):
    if kind.startswith("["):
        kind = kind[1:-1]
        return (struct.pack("<IQ", KINDS[kind][0], len(value))
                + b"".join(_content(kind, element) for element in value))
    return _text(value) if kind == "str" else struct.pack(KINDS[kind][1], value)


def header(metadata, tensors):
    """What stands before the tensors' data, up to the first of their bytes, and
    how many bytes those take. metadata: (key, kind, value) each; tensors: (name,
    type, shape) each, in the order of their data."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, kind, value in metadata:
        number = LIST if kind.startswith("[") else KINDS[kind][0]
        head += _text(key) + struct.pack("<I", number) + _content(kind, value)
    offset = 0
    for name, form, shape in tensors:
        number, elements, size = TYPES[form]
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape),
                                          *reversed(shape), number, offset)
        offset += padded(math.prod(shape) // elements * size)
    return head + bytes(padded(len(head)) - len(head)), offset


def write(path, metadata, tensors):
    """As `header` has them, each tensor with its bytes as a fourth."""
    head, _ = header(metadata, [tensor[:3] for tensor in tensors])
    with open(path, "wb") as file:
        file.write(head)
        for *_, content in tensors:
            file.write(content)
            file.write(bytes(padded(len(content)) - len(content)))
