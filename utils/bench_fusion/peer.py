"""Section "peer": serving beside llama-server, on the same file and threads, asked
by the same client."""
import contextlib
import json
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

from bench_common.peer import random_model, require_program, version_of
from bench_common.report import Target, bars, table

SHAPE, FORMAT = "tinyllama-1.1b", "q4_0"
THREADS = 2
SLUICE, BOUNDED, PEER = "Sluice", "Sluice, bounded", "llama-server"

# In flight, and requests in all.
CLOSED = ((1, 4), (4, 16), (16, 48), (64, 96))
# More than either can serve: 256 tokens a second are asked for.
POISSON_REQUESTS, POISSON_MS, POISSON_SLOTS = 64, 250, 32
LENGTHS = ["--prompt-tokens", "uniform:16:128", "--output-tokens",
           "uniform:32:96"]
CONTEXT = 256  # tokens of a request, at most

# Long prompts among running requests: (ms, tokens of the prompt, of the answer).
RUNNING = [(0, 32, 800)] * 4
LONG = [(ms, 2000, 8) for ms in (3000, 3500)]
LONG_CONTEXT = 2048
SHARE = 1.5  # of the undisturbed inter-token latency
BOUND = 1.35  # of its median: machines are not always equally fast


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peers:
    """Starts servers, one at a time, and measures them."""

    def __init__(self, model, program, peer, folder):
        self.model, self.program, self.peer = model, program, peer
        self.folder = folder

    def command(self, name, slots, context, bound):
        if name == PEER:
            return [self.peer, "-m", self.model, "-t", THREADS, "-tb", THREADS,
                    "-np", slots, "-c", slots * context]
        command = [self.program, "serve", "-t", THREADS, "--max-num-seqs",
                   slots, "-c", context]
        return command + (["--max-itl-ms", f"{bound:.1f}"] if bound else [])

    @contextlib.contextmanager
    def server(self, name, slots, context, bound):
        port = free_port()
        command = self.command(name, slots, context, bound) + [
            "--host", "127.0.0.1", "--port", port]
        with open(self.folder / "server.log", "w") as log:
            running = subprocess.Popen(list(map(str, command)), stdout=log,
                                       stderr=log)
        try:
            self.wait(running, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait()

    def wait(self, running, port):
        until = time.monotonic() + 120
        while time.monotonic() < until and running.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health")
                return
            time.sleep(0.1)
        raise RuntimeError("no server: " + (self.folder / "server.log")
                           .read_text()[-2000:])

    def measure(self, name, slots, context, load, bound=None):
        """The client's report, and its line for each request."""
        lines = self.folder / "requests.json"
        with self.server(name, slots, context, bound) as url:
            command = [self.program, "bench", "--url", url, "--json",
                       "--save-requests", lines, "--warmup-requests",
                       min(slots, 4), *load]
            done = subprocess.run(list(map(str, command)), capture_output=True,
                                  text=True)
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr.strip()}")
        report = json.loads(done.stdout)
        if report["errors"]:
            raise RuntimeError(f"{name}: {report['first_error']}")
        return report, [json.loads(line) for line in lines.open()]


def median_of(runs, *path):
    def value(run):
        for key in path:
            run = run[key]
        return run
    return statistics.median(map(value, runs))


# Throughput -------------------------------------------------------------------

def loads():
    for flight, requests in CLOSED:
        yield f"{flight} in flight", flight, [
            "--concurrency", flight, "--requests", requests, *LENGTHS]
    yield f"Poisson, {POISSON_MS} ms", POISSON_SLOTS, [
        "--requests", POISSON_REQUESTS, "--arrival", "poisson",
        "--mean-interval-ms", POISSON_MS, *LENGTHS]


def throughput(peers, repeats, say):
    rows, targets, groups = [], [], {}
    for what, slots, load in loads():
        runs = {SLUICE: [], PEER: []}
        for seed in range(repeats):
            tokens = set()
            # By turns the one and the other is first.
            for name in sorted(runs, reverse=seed % 2 == 0):
                report, requests = peers.measure(name, slots, CONTEXT,
                                                 load + ["--seed", seed + 1])
                runs[name].append(report)
                tokens.add(sum(each["output_tokens"] for each in requests))
                say(f"  {what}: {name} "
                    f"{report['throughput_tokens_per_second']:.1f} tokens/s")
            if len(tokens) != 1:
                raise RuntimeError(f"{what}: other lengths of answers: {tokens}")
        rate = {name: median_of(kept, "throughput_tokens_per_second")
                for name, kept in runs.items()}
        ratio = statistics.median(
            a["throughput_tokens_per_second"] /
            b["throughput_tokens_per_second"]
            for a, b in zip(runs[SLUICE], runs[PEER]))
        groups[what] = [rate[SLUICE], rate[PEER]]
        cell = lambda *path: " / ".join(
            f"{median_of(kept, *path):.0f}" for kept in runs.values())
        rows.append([what, f"{rate[SLUICE]:.1f} / {rate[PEER]:.1f}",
                     f"{ratio:.2f}", cell("ttft_ms", "p50"),
                     cell("ttft_ms", "p99"), cell("itl_ms", "p50"),
                     cell("itl_ms", "p99"), cell("e2e_ms", "p50")])
        targets.append(Target(f"{what}: throughput by llama-server's",
                              f"{ratio:.3f}", "at least 1.0", ratio >= 1.0))
    text = table(["load", "tokens/s", "ratio", "TTFT p50 ms", "p99",
                  "ITL p50 ms", "p99", "end to end p50 ms"], rows)
    return text, targets, {"fusion-peer.svg": bars(
        "Tokens a second, served", "tokens/s", groups, [SLUICE, PEER])}


# Long prompts among running requests ------------------------------------------

def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def gaps_of(requests):
    """Times between two tokens of those that run: (while no request with a long
    prompt does, while one does)."""
    longs = [(each["started_ms"], each["ended_ms"])
             for each in requests if each["prompt_tokens"] >= 1000]
    alone, among = [], []
    # The first tokens are made beside the other running requests' prompts.
    begin = max(each["started_ms"] + each["ttft_ms"] for each in requests
                if each["prompt_tokens"] < 1000)
    for each in requests:
        if each["prompt_tokens"] >= 1000:
            continue
        at = each["started_ms"] + each["ttft_ms"]
        for gap in each["itl_ms"]:
            before, at = at, at + gap
            if any(before < end and at > start for start, end in longs):
                among.append(gap)
            elif before > begin:
                alone.append(gap)
    return alone, among


def trace(folder, requests):
    path = folder / "trace.txt"
    path.write_text("".join(f"{ms},{prompt},{answer}\n"
                            for ms, prompt, answer in requests))
    return ["--trace-file", path, "--requests", len(requests)]


def long_prompts(peers, repeats, say):
    slots = len(RUNNING) + len(LONG)
    found = {name: [] for name in (SLUICE, BOUNDED, PEER)}
    for seed in range(repeats):
        bound = None
        for name, kept in found.items():
            _, requests = peers.measure(
                name, slots, LONG_CONTEXT, trace(peers.folder, RUNNING + LONG)
                + ["--seed", seed + 1], bound if name == BOUNDED else None)
            alone, among = gaps_of(requests)
            bound = bound or BOUND * percentile(alone, 0.5)
            kept.append({"bound": bound, "alone": percentile(alone, 0.99),
                         "among": percentile(among, 0.99), "most": max(among),
                         "middle": percentile(alone, 0.5),
                         "ttft": statistics.median(
                             each["ttft_ms"] for each in requests
                             if each["prompt_tokens"] >= 1000)})
            say(f"  {name}: p99 {kept[-1]['alone']:.0f} ms alone, "
                f"{kept[-1]['among']:.0f} ms among long prompts")
    rows = []
    for name, kept in found.items():
        middle = {key: median_of(kept, key) for key in kept[0]}
        share = statistics.median(run["among"] / run["alone"] for run in kept)
        rows.append([name, f"{middle['bound']:.0f}" if name == BOUNDED else "",
                     f"{middle['middle']:.0f}", f"{middle['alone']:.0f}",
                     f"{middle['among']:.0f}", f"{share:.2f}",
                     f"{middle['most']:.0f}", f"{middle['ttft'] / 1000:.1f}"])
    ratio = {name: statistics.median(
        ours["among"] / theirs["among"]
        for ours, theirs in zip(found[name], found[PEER]))
        for name in (SLUICE, BOUNDED)}
    targets = [Target(f"p99 between tokens among {LONG[0][1]}-token prompts, by "
                      "llama-server's", f"{of:.3f}", "below 1", of < 1, name)
               for name, of in ratio.items()]
    share = statistics.median(run["among"] / run["alone"]
                              for run in found[BOUNDED])
    targets.append(Target("the same, by the undisturbed one's", f"{share:.2f}",
                          f"at most {SHARE}", share <= SHARE, BOUNDED))
    return table(["server", "bound, ms", "p50 alone, ms", "p99 alone, ms",
                  "p99 among long prompts, ms", "ratio", "longest, ms",
                  "TTFT of long ones, s"], rows), targets


def section(bench):
    """(text, targets, pictures)"""
    peer = require_program("llama-server", bench.llama_bin)
    model, program = random_model(bench.work, SHAPE, FORMAT, bench.tools)
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(model, program, peer, pathlib.Path(folder))
        rates, targets, pictures = throughput(peers, bench.repeats, bench.say)
        latencies, more = long_prompts(peers, bench.repeats, bench.say)
    text = f"""{SHAPE} with random weights, {FORMAT}, {THREADS} threads for each \
server, on cores that they share with the client, `bench --url` for both. \
llama-server (llama.cpp {version_of(peer)}) is started for each point with as \
many slots as requests are in flight, and room for {CONTEXT} tokens in each; \
Sluice likewise (`--max-num-seqs`, `-c`). Both compute every answer to its full \
length, which is checked. Servers take turns, and who is first; {bench.repeats} runs \
with other prompts and lengths; medians, ratios are the medians of the runs' \
ratios.

### Throughput

Prompts of 16 to 128 tokens, answers of 32 to 96, uniform; Poisson arrivals ask \
for more than either can serve. The first figure is Sluice's, the second \
llama-server's.

{rates}
![](fusion-peer.svg)

### Long prompts among running requests

{len(RUNNING)} requests of {RUNNING[0][2]} tokens run; after 3 s {len(LONG)} \
prompts of {LONG[0][1]} tokens come. Times between two tokens of those that run, \
*alone* while no long prompt is in the system, in the same run. *Bounded* is with \
`--max-itl-ms` at {BOUND} times the median alone: the long prompts pay for it.

{latencies}"""
    return text, targets + more, pictures
