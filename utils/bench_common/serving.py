"""Servers, ours and llama.cpp's, asked by the same client."""
import contextlib
import json
import socket
import statistics
import subprocess
import time
import urllib.request

from .peer import THREADS
from .processes import fail, joined, run

SLUICE, PEER = "Sluice", "llama-server"
LENGTHS = ["--prompt-tokens", "uniform:16:128", "--output-tokens",
           "uniform:32:96"]
CONTEXT = 256  # tokens of a request, at most


def bench(command, options, lines):
    """The report of a client, such as `program bench`, and its line for each
    request, which it writes to `lines`. A request that fails ends the
    measurement."""
    command = [*command, "--json", "--save-requests", lines, *options]
    report = json.loads(run(command))
    if report["errors"]:
        fail(f"{joined(command)}: {report['errors']} requests failed: "
             f"{report['first_error']}")
    return report, [json.loads(line) for line in open(lines)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Servers:
    """Starts servers, one at a time, and measures them with the sluice-bench of
    the folder `tools`."""

    def __init__(self, model, program, peer, tools, folder):
        self.model, self.program, self.peer = model, program, peer
        self.client, self.folder = tools / "sluice-bench", folder

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
            self.wait(name, running, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait()

    def wait(self, name, running, port):
        until = time.monotonic() + 120
        while time.monotonic() < until and running.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health")
                return
            time.sleep(0.1)
        fail(f"{name} does not serve: "
             + (self.folder / "server.log").read_text()[-2000:].strip())

    def measure(self, name, slots, context, load, bound=None):
        """The client's report, and its line for each request."""
        with self.server(name, slots, context, bound) as url:
            return bench([self.client, url], [
                "--warmup-requests", min(slots, 4), *load],
                self.folder / "requests.json")


def in_flight(count, requests):
    """A load: what it is called, slots, the client's options."""
    return f"{count} in flight", count, [
        "--concurrency", count, "--requests", requests, *LENGTHS]


class Turns:
    """Reports of both servers on one load, taken by turns."""

    def __init__(self):
        self.runs = {SLUICE: [], PEER: []}

    def medians(self, *path):
        """Sluice's and llama-server's."""
        return [statistics.median(value_of(run, path) for run in kept)
                for kept in self.runs.values()]

    def ratio(self, *path):
        """The median of the runs' ratios."""
        return statistics.median(
            value_of(ours, path) / value_of(theirs, path)
            for ours, theirs in zip(*self.runs.values()))

    def cell(self, *path, digits=0):
        return " / ".join(f"{each:.{digits}f}" for each in self.medians(*path))


RATE = "throughput_tokens_per_second"


def value_of(report, path):
    for key in path:
        report = report[key]
    return report


def by_turns(servers, load, repeats, say):
    """Turns. Answers of both have the same lengths, which is checked."""
    what, slots, options = load
    turns = Turns()
    for seed in range(repeats):
        tokens = set()
        # By turns the one and the other is first.
        for name in sorted(turns.runs, reverse=seed % 2 == 0):
            report, requests = servers.measure(
                name, slots, CONTEXT, options + ["--seed", seed + 1])
            turns.runs[name].append(report)
            tokens.add(sum(each["output_tokens"] for each in requests))
            say(f"  {what}: {name} {report[RATE]:.1f} tokens/s")
        if len(tokens) != 1:
            fail(f"{what}: the servers' answers are of different lengths: "
                 f"{sorted(tokens)}")
    return turns


def described(peer_version, repeats):
    """How such measurements are made."""
    return f"""{THREADS} threads for each server, on cores that they share with \
the client, `sluice-bench` for both. llama-server (llama.cpp {peer_version}) is \
started for each point with as many slots as requests are in flight, and room for \
{CONTEXT} tokens in each; Sluice likewise (`--max-num-seqs`, `-c`). Both compute \
every answer to its full length, which is checked. Servers take turns, and who is \
first; {repeats} runs with other prompts and lengths; medians, ratios are the \
medians of the runs' ratios."""
