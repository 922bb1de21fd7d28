"""Lists what the fat binary in an object holds, by the chips' names.

  list-images.py OBJECT

A fat binary is a header (magic, version u16, its size u16, bytes that follow
u64), then images: kind u16 (1: PTX, 2: ELF), version u16, header size u32, bytes
u64, 12 more, chip u32, 8 more, flags u32 (bits 20 and 21: the chip's name ends
with a or f). No document says so; it is what fatbinary of CUDA 13.0 writes.
"""

import pathlib
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)

data = pathlib.Path(sys.argv[1]).read_bytes()
begin = data.find(MAGIC)
if begin < 0 or data.find(MAGIC, begin + 4) >= 0:
    sys.exit("expected one fat binary")
_, _, header, size = struct.unpack_from("<IHHQ", data, begin)
at = begin + header
while at < begin + header + size:
    kind, _, header_bytes, image_bytes = struct.unpack_from("<HHIQ", data, at)
    chip, _, flags = struct.unpack_from("<IQI", data, at + 28)
    letter = ["", "a", "f"][flags >> 20 & 3]
    print({1: "ptx", 2: "elf"}.get(kind, kind), f"sm_{chip}{letter}")
    at += header_bytes + image_bytes
