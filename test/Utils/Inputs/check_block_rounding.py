#!/usr/bin/env python3
"""Compares utils/model_files/blocks.py with what gguf's Python package makes.

  check_block_rounding.py UTILS

Exit status 1: something differs.
"""
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])

from model_files import blocks  # noqa: E402

RAMP = [k / 8 for k in range(-15, 15)]
BLOCKS = {
    "zeros": [0.0] * 32,
    "the largest size twice, negative first": [-4.0, 4.0] + RAMP,
    "the largest size twice, positive first": [4.0, -4.0] + RAMP,
    "halves between quants": [127.0] + [k + 0.5 for k in range(-16, 15)],
    "a scale below f16's normal numbers": [k * 2.0 ** -20
                                           for k in range(-20, 12)],
}
# Made with gguf 0.19.0.
EXPECTED = {
    "q8_0": """
0000 0000000000000000000000000000000000000000000000000000000000000000
0828 817fc4c8ccd0d4d8dce0e4e8ecf0f4f8fc0004080c1014181c2024282c303438
0828 7f81c4c8ccd0d4d8dce0e4e8ecf0f4f8fc0004080c1014181c2024282c303438
003c 7ff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff0102030405060708090a0b0c0d0e0f
0300 81878e949aa1a7adb4bac0c7cdd4dae0e7edf3fa00060d131920262c33394046""",
    "q4_0": """
0080 88888888888888888888888888888888
0038 808f8495959595a6a6a6a6b7b7b7b7c8
00b8 808f8c8c7b7b7b7b6a6a6a6a59595959
f0cb 80898989898989898978787878787878
2800 6070718182829293a3a4a4b4b5c5c6c6""",
}
# Rounded to f16: a large one, those too large, and halves of the smallest.
NUMBERS = [65280.0, 65536.0, -1e30, 2.0 ** -25, 3 * 2.0 ** -25, 2.0 ** -24]
HALVES = "f87b 007c 00fc 0000 0200 0100"


def bf16(values):
    """Cut off after 16 bits."""
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def main():
    failed = 0
    for form, expected in EXPECTED.items():
        lines = expected.split("\n")[1:]
        for (name, values), line in zip(BLOCKS.items(), lines, strict=True):
            made = blocks.FROM_BF16[form](bf16(values)).hex()
            good = made == line.replace(" ", "")
            print(f"{form}, {name}: {'ok' if good else made}")
            failed += not good
    made = blocks.to_f16(bf16(NUMBERS)).hex()
    good = made == HALVES.replace(" ", "")
    print(f"f16: {'ok' if good else made}")
    return 1 if failed or not good else 0


if __name__ == "__main__":
    sys.exit(main())
