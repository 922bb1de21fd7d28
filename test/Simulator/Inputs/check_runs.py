"""Compares the JSON of simulated runs: async, off, sync, async at acceptance 0,
and async with everything switched off that can be."""

import json
import sys

runs = [json.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]
run_async, off, sync, never, less = runs

for run in runs:
    assert run["tokens"] == 128, run["tokens"]
    guesses = run["speculation"]
    assert guesses["launched"] == guesses["accepted"] + guesses["cancelled"]
    assert (run["draft"]["steps"] > 0) == (guesses["mode"] != "off")
    stages = run["stages"]
    assert [stage["rank"] for stage in stages] == list(range(1, 9))
    for stage in stages:
        latency = stage["cancel_latency_us"]
        assert latency["p50"] <= latency["p99"] <= latency["max"]
        assert stage["busy_seconds"] > 0 and stage["steps"] > 0
    assert run["traffic"]["messages"] == sum(
        hop["messages"] + hop["control_messages"]
        for hop in run["traffic"]["hops"]
    )
    assert run["traffic"]["bytes"] == sum(
        hop["bytes"] + hop["control_bytes"] for hop in run["traffic"]["hops"]
    )
    # The prompt's first chunk passes all stages at least.
    assert run["ttft_seconds"] > run["prediction"]["trip_seconds"] / 2

# A token of the plain pipeline takes one trip.
trip = off["prediction"]["trip_seconds"]
assert abs(off["tokens_per_second"] * trip - 1) < 0.02, off
assert run_async["tokens_per_second"] > 2 * off["tokens_per_second"]
assert run_async["tokens_per_second"] > 2 * sync["tokens_per_second"]
assert never["tokens_per_second"] >= 0.98 * off["tokens_per_second"]
assert never["speculation"]["accepted"] == 0
assert less["tokens_per_second"] < run_async["tokens_per_second"]

# Cancels: at most one for each epoch and rank, and one at the end.
for hop in run_async["traffic"]["hops"]:
    assert hop["control_messages"] <= run_async["speculation"]["epochs"] + 1
for stage in run_async["stages"]:
    # 500 us for the stretch, and the link before it.
    assert stage["cancel_latency_us"]["max"] < 1000, stage
assert sum(hop["control_messages"] for hop in less["traffic"]["hops"]) == 0
