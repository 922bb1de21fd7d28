#!/usr/bin/env python3
"""What bench-cpu makes of starts that were timed."""
import sys

sys.path.insert(0, sys.argv[1])

from bench_cpu.start import Run, Starts, judged  # noqa: E402

STARTS = Starts(first=Run(0.9, 1.4, 1_100_000_000), later=Run(0.1, 0.2, 1_000_000_000),
                peer=Run(0.3, 0.4, 1_300_000_000), ratio=0.5, disk=0.8e9)


def check(starts, file_bytes, told, cells, met):
    row, targets = judged("q4_0", starts, file_bytes, told)
    assert row == cells, row
    assert [(each.row[1], each.met) for each in targets] == met, [
        (each.row, each.met) for each in targets]


# 1.6 GB packed in 0.8 s; 1.1 GB resident of 1.05 and of 1.0 GB.
check(STARTS, 1_600_000_000, 1_050_000_000,
      ["q4_0", "0.20", "0.40", "0.50", "0.90", "2.00", "1.40", "0.80", "1050",
       "1100", "1300"],
      [("0.500", True), ("2.00", True), ("1.048", True)])
STARTS.ratio, STARTS.later.output = 1.2, -0.9
check(STARTS, 1_600_000_000, 1_000_000_000,
      ["q4_0", "0.20", "0.40", "1.20", "0.90", "0.89", "1.40", "0.80", "1000",
       "1100", "1300"],
      [("1.200", False), ("0.89", False), ("1.100", False)])
