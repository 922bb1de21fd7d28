"""write_floats.py FILE NUMBER...: writes the numbers as little-endian float32."""

import struct
import sys

numbers = [float(word) for word in sys.argv[2:]]
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack(f"<{len(numbers)}f", *numbers))
