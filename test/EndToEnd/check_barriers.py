"""Runs a program with a trace and says what its steps' barriers are.

  check_barriers.py TRACE PROGRAM ARGUMENTS...

Prints each different pair of barriers and layers once, and ends with an error
where the trace and --json do not agree, or threads waited for longer than the
steps took."""

import json
import subprocess
import sys

trace, *command = sys.argv[1:]
result = subprocess.run(
    command + ["--json", "--trace", trace], stdout=subprocess.PIPE, check=True
)
stages = json.loads(result.stdout)["stages"]
with open(trace) as file:
    events = json.load(file)["traceEvents"]

for stage in stages:
    rank = [event for event in events if event["pid"] == stage["rank"]]
    marks = [event["args"] for event in rank if event["name"] == "barriers"]
    steps = [event for event in rank if event["ph"] == "X"]
    assert len(marks) == len(steps) == stage["steps"] > 0
    assert sum(mark["barriers"] for mark in marks) == stage["barriers"]
    waited = sum(mark["wait ns"] for mark in marks) / 1e9
    assert abs(waited - stage["wait_seconds"]) < 1e-6
    assert waited < sum(step["dur"] for step in steps) / 1e6
    for mark in marks:
        assert mark["longest wait ns"] >= mark["wait ns"] >= 0
    for barriers, layers in sorted(
        {(mark["barriers"], mark["layers"]) for mark in marks}
    ):
        print(f"{stage['name']}: {barriers} barriers in {layers} layers")
