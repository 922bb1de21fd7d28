"""Checks the calculation of utils/bench-fusion by cases worked out by hand, and
sluice-sim against it: argv is the folder utils/ and a seed."""

import json
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from bench_fusion.virtual import (  # noqa: E402
    fused_steps,
    overlap,
    rows_without_reordering,
    slope_of,
)

assert fused_steps([], [], 10) == []
assert fused_steps([0], [3], 10) == [1, 1, 1]
assert fused_steps([0, 0], [2, 3], 10) == [2, 2, 1]
# A newcomer joins at the next step, also where it comes as that begins.
assert fused_steps([0, 5], [2, 2], 10) == [1, 2, 1]
assert fused_steps([0, 10], [2, 2], 10) == [1, 2, 1]
assert fused_steps([0, 11], [2, 2], 10) == [1, 1, 1, 1]
# While nobody is there, there are no steps; the next begins as one comes.
assert fused_steps([0, 103, 109], [1, 2, 1], 10) == [1, 1, 2]
assert overlap([1, 2, 1], 2) == 4 / 3 / 2
# Slots 0, 1, 2 for three steps: all; 1 and 2 live; 1 lives.
assert rows_without_reordering([1, 3, 2]) == (3 + 3 + 2, 9, 6)
assert abs(slope_of(7, lambda slope: 5 + 40 * slope) - 0.05) < 1e-5
assert slope_of(5, lambda slope: 5 + slope) == 0

STEP_NS = 5_000_000
for options in (
    ["--arrival", "poisson", "--mean-interval-ms", "30"],
    ["--arrival", "gamma", "--mean-interval-ms", "200", "--burstiness", "0.3"],
    ["--arrival", "fixed", "--mean-interval-ms", "7"],
):
    run = json.loads(
        subprocess.check_output(
            ["sluice-sim", "--step-us", str(STEP_NS / 1000), "--head-us", "0"]
            + ["--wake-us", "0", "--requests", "20", "--prompt-tokens", "8"]
            + ["--output-tokens", "uniform:1:60", "--seed", sys.argv[2]]
            + ["--json"]
            + options
        )
    )
    asked = run["per_request"]
    wanted = fused_steps(
        [each["arrival_ns"] for each in asked],
        [each["output_tokens"] for each in asked],
        STEP_NS,
    )
    assert run["step_outputs"] == wanted, options
    assert run["steps"] == len(wanted)
    assert abs(run["overlap"] - overlap(wanted, 20)) < 1e-9
