#!/usr/bin/env python3
"""Sluice's and llama.cpp's programs as utils/bench-cpu calls them, which answer
with recorded measurements; this file under each of their names. Speeds differ from
run to run, in other ways for both, so that medians show:

    ours     1 2 1 2 1   median 1
    theirs   1 1 2 2 2   median 2
    ratio    1 2 0.5 1 0.5   median 1

FAKE_SLOW=ROWS: our steps of so many rows take half as long again. FAKE_UNEVEN=ROWS:
they do in one run, and two thirds as long in the next. FAKE_ABSENT=ROWS:
llama-batched-bench says nothing of them. FAKE_FAILS=NAME: that program fails.
FAKE_SHORT=1: llama-server's answers are a token shorter. FAKE_PEER=NAMES: the
instructions that llama.cpp was built for.
"""
import json
import os
import pathlib
import shutil
import sys

ME = pathlib.Path(sys.argv[0])
OPTIONS = sys.argv[1:]
OURS, THEIRS = (1, 2, 1, 2, 1), (1, 1, 2, 2, 2)


def option(name, default=None):
    return OPTIONS[OPTIONS.index(name) + 1] if name in OPTIONS else default


def factor(key, factors):
    """That of the next run of its kind."""
    count = pathlib.Path(os.environ["FAKE_STATE"], key.replace("/", "-"))
    runs = int(count.read_text()) if count.exists() else 0
    count.write_text(str(runs + 1))
    return factors[runs % len(factors)]


def step_seconds(rows):
    """A line between the row counts that are fitted, and proportional at the
    end."""
    slow = 1.5 if os.environ.get("FAKE_SLOW") == str(rows) else 1
    return slow * (0.030 if rows <= 4 else 0.030 + 0.0025 * (rows - 4))


def generate():
    if "--json" not in OPTIONS:
        return ME.with_name(ME.name + ".weights").touch()
    count = int(option("-n"))
    prompt = int(option("-c")) - count
    pin, threads = option("--cpu-pin", ""), int(option("-t"))
    speed = threads / 2 * factor(f"generate {prompt} {count} {threads} {pin}",
                                 THEIRS if pin == "off" else OURS)
    print(json.dumps({"timing": {
        "prompt_tokens": prompt, "prompt_seconds": prompt / (500 * speed),
        "generated_tokens": count,
        "generate_seconds": (count - 1) / (50 * speed)}, "stages": [
            {"steps": count, "barriers": 36 * count, "busy_seconds": 2,
             "wait_seconds": 0.1 * threads}]}))


def info():
    print(json.dumps({
        "layers": 3, "cpu": "avx512" if ME.name.endswith("-v4") else "avx2", "parameters": 1_100_000_000, "vocab_size": 32000, "hidden_size": 2048,
        "memory": {"weights_bytes": 620_000_000, "cache_bytes": 10_000_000,
                   "cache_bytes_per_token": 11264}}))


def machine_bench(only):
    """A limit alone is measured before and behind a run, for two kinds of runs by
    turns, or behind it and behind the peer's, for three runs of one kind and one of
    another ("read"). It changes with the runs: for ours of a kind it, or the mean of
    the two, is 1 2 2 1 2 times the limit, so that only shares of the runs' own limits
    have the median 1; for theirs it changes as they do."""
    isa = option("--isa")
    found = {"read": 5e10, isa: {"int8": 1e12, "int4": 2e12, "fma": 5e11}}
    if only:
        slow, fast = (0.5, 1.5) * 2, (1.5, 2.5) * 2
        limits = (1, 2, 2, 1, 2)
        runs = [run for turn in range(5) for run in
                (3 * turn, 3 * turn + 1, 3 * turn + 2, turn)]
        # Who is first changes from run to run of a kind.
        behind = [each for run in runs for each in
                  (limits[run % 5], THEIRS[run % 5])[::-1 if run % 2 else 1]]
        now = factor("machine " + only, behind if only == "read" else
                     slow + fast + fast + slow + fast)
        found = ({"read": now * found["read"]} if only == "read" else
                 {isa: {only: now * found[isa][only]}})
    print(json.dumps(found))


def bench():
    """In the process: steps that all requests share."""
    rows = int(option("--requests"))
    step = 1e3 * step_seconds(rows) / factor(f"served {rows}", OURS)
    save([{"started_ms": 0, "ttft_ms": 10, "itl_ms": [step] * 47,
           "output_tokens": 48}] * rows)
    print(json.dumps({"errors": 0}))


def steps():
    """All as fast as in the same run."""
    speed = factor("steps", OURS)
    uneven = factor("uneven", (1.5, 1 / 1.5, 1.5, 1 / 1.5, 1))
    print(json.dumps({"steps": [
        {"rows": rows, "median_seconds": step_seconds(rows) / speed * (
            uneven if os.environ.get("FAKE_UNEVEN") == str(rows) else 1)}
        for rows in map(int, option("--rows").split(","))]}))


def save(requests):
    pathlib.Path(option("--save-requests")).write_text(
        "".join(json.dumps(each) + "\n" for each in requests))


def client():
    """Of a server, which says which it is."""
    import urllib.request  # takes longer than all the rest
    name = urllib.request.urlopen(OPTIONS[0] + "/health").read().decode()
    ours = name == "Sluice"
    if trace := option("--trace-file"):
        return answer_trace(trace, ours)
    flight = int(option("--concurrency", 32))
    speed = factor(f"serve {name} {flight}", OURS if ours else THEIRS)
    save([{"output_tokens": 63 if name == "short" else 64}] * 4)
    print(json.dumps({
        "errors": 0,
        "throughput_tokens_per_second": (50 if ours else 40) * flight * speed,
        "itl_ms": {"p50": (20 if ours else 25) / speed,
                   "p99": (48 if ours else 40) / speed},
        "ttft_ms": {"p50": 100, "p99": 200}, "e2e_ms": {"p50": 3000}}))


def answer_trace(trace, ours):
    """Each token takes 10 ms, and twice that, or four times, while a request with
    a long prompt is there."""
    requests = []
    for line in open(trace):
        start, prompt, answer = map(int, line.split(","))
        gap = (20 if ours else 40) if prompt >= 1000 else 10
        requests.append({"started_ms": start, "ttft_ms": 100,
                         "prompt_tokens": prompt, "output_tokens": answer,
                         "itl_ms": [gap] * (answer - 1)})
    for each in requests:
        each["ended_ms"] = (each["started_ms"] + each["ttft_ms"]
                            + sum(each["itl_ms"]))
    long = [each for each in requests if each["prompt_tokens"] >= 1000]
    for each in requests:
        at = each["started_ms"] + each["ttft_ms"]
        for i, gap in enumerate(each["itl_ms"] if each not in long else ()):
            if any(at < other["ended_ms"] and at + gap > other["started_ms"]
                   for other in long):
                each["itl_ms"][i] = gap * (2 if ours else 4)
            at += each["itl_ms"][i]
    save(requests)
    print(json.dumps({"errors": 0}))


def serve(name):
    import http.server

    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(name.encode())

    http.server.HTTPServer(("127.0.0.1", int(option("--port"))),
                           Health).serve_forever()


def llama_bench():
    count, depth = int(option("-n")), option("-d")
    rows = [{"n_prompt": int(tokens), "n_gen": 0, "avg_ts":
             400 * factor(f"llama {tokens}", THEIRS)}
            for tokens in option("-p").split(",") if tokens != "0"]
    if count:
        rows.append({"n_prompt": 0, "n_gen": count, "avg_ts":
                     40 * factor(f"llama {depth} {count}", THEIRS)})
    print(json.dumps(rows))


def llama_batched_bench():
    for rows in map(int, option("-npl").split(",")):
        if os.environ.get("FAKE_ABSENT") != str(rows):
            print(json.dumps({
                "pl": rows, "speed_tg": 0.8 * rows / step_seconds(rows)
                * factor(f"llama batched {rows}", THEIRS)}))


def main():
    if os.environ.get("FAKE_FAILS") == ME.name:
        sys.exit(f"{ME.name}: out of luck")
    if "--version" in OPTIONS:
        print("version: 1 (fake)")
    elif ME.name == "sluice-compile":
        shutil.copy(ME, option("-o"))
    elif ME.name == "sluice-bench":
        client()
    elif ME.name == "machine-bench":
        machine_bench(option("--only"))
    elif ME.name == "llama-bench":
        llama_bench()
    elif ME.name == "llama-batched-bench":
        llama_batched_bench()
    elif ME.name == "llama-server":
        serve("short" if os.environ.get("FAKE_SHORT") else "llama-server")
    elif ME.name == "llama-completion":
        built = os.environ.get("FAKE_PEER", "AVX AVX2").split()
        print("system_info: SSE3 = 1 | AVX512_BF16 = 0 | FMA = 1 | "
              + " | ".join(f"{name} = 1" for name in built), file=sys.stderr)
    else:
        {"generate": generate, "info": info, "steps": steps, "serve": lambda: serve("Sluice"),
         "bench": bench}[OPTIONS[0]]()


if __name__ == "__main__":
    main()
