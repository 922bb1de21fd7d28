"""The curve that bench-cpu makes of measured steps: check_curve.py UTILS"""
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from bench_cpu.curve import FITTED, curve_of  # noqa: E402

# What is a curve stays as it is.
assert curve_of({1: 0.01, 2: 0.01, 4: 0.012, 8: 0.024}) == {
    1: 10000, 2: 10000, 4: 12000, 8: 24000}
# A step that is shorter than one of fewer rows: both move half of the way.
assert curve_of({1: 0.0101, 2: 0.0100, 4: 0.02}) == {
    1: 10050, 2: 10050, 4: 20000}
# One that is longer than its rows in steps of fewer: likewise.
assert curve_of({1: 0.01, 2: 0.0242, 4: 0.03}) == {1: 11000, 2: 22000, 4: 30000}
# Noise moves each by no more than it is.
generator = random.Random(1)
for _ in range(200):
    true = {rows: 0.01 * max(1, rows / 6) for rows in FITTED}
    noisy = {rows: seconds * (1 + generator.uniform(-0.05, 0.05))
             for rows, seconds in true.items()}
    kept = list(curve_of(noisy).items())
    for rows, micros in kept:
        assert abs(micros / 1e6 / true[rows] - 1) < 0.051, (rows, noisy)
    for (fewer, least), (rows, micros) in zip(kept, kept[1:]):
        assert least <= micros <= least * rows / fewer, (rows, noisy)
