"""Checks that a simulated run's trace has what Perfetto is to show."""

import json
import sys

events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
ranks = {e["args"]["name"] for e in events if e["name"] == "process_name"}
assert ranks == {"rank 0: head, draft"} | {
    f"rank {r}: stage {r - 1}" for r in range(1, 5)
}, ranks

names = {e["name"] for e in events}
for wanted in (
    "1 row",
    "checkpoint",
    "cancel",
    "cancel seen",
    "launch",
    "draft",
    "token",
    "finish",
    "policy",
    "guesses alive",
    "frames at the door",
    "message to rank 1",
    "message to rank 0",
    "control to rank 4",
):
    assert wanted in names, wanted

# Steps of a lane do not overlap.
ends = {}
for event in events:
    if event["ph"] != "X":
        continue
    lane = event["pid"], event["tid"]
    assert event["ts"] >= ends.get(lane, 0) - 1e-3, event
    ends[lane] = event["ts"] + event["dur"]
assert len(ends) == 5, ends
assert sum(e["name"] == "token" for e in events) == 16
assert all(e["args"]["verdict"] for e in events if e["name"] == "policy")
