"""Lists what the fat binary in an object holds, by the chips' numbers.

  list-images.py OBJECT

A fat binary is a header (magic, version u16, its size u16, bytes that follow
u64), then images: kind u16 (1: PTX, 2: ELF), version u16, header size u32, bytes
u64, 12 more, chip u32.
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
    (chip,) = struct.unpack_from("<I", data, at + 28)
    print({1: "ptx", 2: "elf"}.get(kind, kind), f"sm_{chip}")
    at += header_bytes + image_bytes
