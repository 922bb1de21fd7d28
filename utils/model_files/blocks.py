"""Rounds weights in bf16 to the types of GGUF files, as gguf's Python package
does, to the last bit. Numbers in bf16 are given as bytes, two each.

gguf computes in float32. Sums, products and quotients of two such numbers are
computed here in float64 and then rounded: a float64 has more than twice as many
digits, so that the first rounding changes nothing.

The quant of a weight depends on itself and on the weight that sets its block's
scale. There are few of either in bf16, so that all quants are looked up in tables,
one for each scale.
"""
import array
import math
import struct
import sys

BLOCK = 32
CLEAR_SIGN = bytes(byte & 0x7f for byte in range(256))
SIGN = 0x8000
# All numbers in bf16, by their bits.
NUMBERS = struct.unpack("<65536f", struct.pack(
    "<65536I", *(bits << 16 for bits in range(65536))))
# A weight this many numbers below the largest of its block is less than 1/256 of
# it: its quant is that of zero.
FAR = 9 * 128


class Table(dict):
    """A function's results, kept."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def __missing__(self, key):
        value = self[key] = self.function(key)
        return value


def float32(values):
    return array.array("f", values)


def half(value):
    """The two bytes of a number in f16."""
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", math.copysign(math.inf, value))


def words(data):
    """Bytes as an array of numbers of 16 bits."""
    result = array.array("H", data)
    if sys.byteorder == "big":
        result.byteswap()
    return result


def quants(largest, divisor, rounded):
    """A block's scale in f16, and the quants of weights by their bits, of a block
    whose weight of the largest size has the bits `largest`."""
    (scale,) = float32([NUMBERS[largest] / divisor])
    (inverse,) = float32([1 / scale if scale else 0.0])
    table = bytearray(rounded([0.0]) * len(NUMBERS))
    largest &= ~SIGN
    for sign in (0, SIGN):
        near = slice(sign + max(0, largest - FAR), sign + largest + 1)
        table[near] = rounded(float32([number * inverse
                                       for number in NUMBERS[near]]))
    return half(scale), table


def nearest(products):
    """To the nearest number, halves away from zero, in 8 bits."""
    return bytes([int(value + (0.5 if value > 0 else -0.5)) & 0xff
                  for value in products])


def nearest_from_eight(products):
    """Numbers from 0 to 15, where 8 is zero."""
    return bytes([max(0, min(15, int(value)))
                  for value in float32([value + 8.5 for value in products])])


HALVES = Table(lambda bits: half(NUMBERS[bits]))
Q8_0 = Table(lambda largest: quants(largest & ~SIGN, 127, nearest))
Q4_0 = Table(lambda largest: quants(largest, -8, nearest_from_eight))


def quantised(data, scales):
    """The scale of each block, and the quants of its weights."""
    sizes = bytearray(data)
    sizes[1::2] = sizes[1::2].translate(CLEAR_SIGN)
    weights, sizes = words(data), words(sizes)
    for start in range(0, len(weights), BLOCK):
        block, among = weights[start:start + BLOCK], sizes[start:start + BLOCK]
        scale, table = scales[block[among.index(max(among))]]
        yield scale, bytes(map(table.__getitem__, block))


def to_f32(data):
    result = bytearray(2 * len(data))
    result[2::4], result[3::4] = data[0::2], data[1::2]
    return bytes(result)


def to_f16(data):
    return b"".join(map(HALVES.__getitem__, words(data)))


def to_q8_0(data):
    return b"".join(part for block in quantised(data, Q8_0) for part in block)


def to_q4_0(data):
    result, count = [], BLOCK // 2
    for scale, values in quantised(data, Q4_0):
        low = int.from_bytes(values[:count], "little")
        high = int.from_bytes(values[count:], "little")
        result += scale, (low | high << 4).to_bytes(count, "little")
    return b"".join(result)


FROM_BF16 = {"f32": to_f32, "f16": to_f16, "q8_0": to_q8_0, "q4_0": to_q4_0}
