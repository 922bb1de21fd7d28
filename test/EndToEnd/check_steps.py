#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the simulator's step of one row, on stdin, lasts as long as a file says
that `steps` has written."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    (wrote,) = re.findall(r"\{rows: 1, time: (\S+) ms\}", file.read())
(stage,) = json.load(sys.stdin)["prediction"]["stages"]
said = 1e3 * stage["step_seconds"]["1"]
assert abs(said / float(wrote) - 1) < 1e-3, (said, wrote)
