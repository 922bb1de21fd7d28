"""What a run over real links should take: emulated and simulated.

The demo plays a model whose steps take as long as on the described machines,
so that this machine's few cores are not what limits. Its rows are as long as
the demo's own, and so the same bytes go over a real link, an emulated and a
simulated one. Over the real ones the description has links that take no time.
"""
import json
import pathlib
import subprocess

from cluster_test.jobs import Failure

# 256 values a row, as in the demo. A stage of two layers takes some 8 ms, and
# further rows cost next to nothing; what the draft takes is 1 ms.
DESCRIPTION = """\
name: {name}
target: played
draft: guessing
models:
  - name: played
    layers: 8
    hidden: 256
    feed_forward: 49000
    heads: 8
    kv_heads: 4
    head_dim: 32
    vocab: 4096
    format: q8_0
  - name: guessing
    layers: 2
    hidden: 256
    feed_forward: 6000
    heads: 8
    kv_heads: 4
    head_dim: 32
    vocab: 4096
    format: q8_0
nodes:
  - name: n1
    devices:
      - {{kind: cpu, memory: 4 GiB, bandwidth: 10 GB/s, flops: 400 GFLOP/s}}
  - {{name: n2, like: n1}}
  - {{name: n3, like: n1}}
  - {{name: n4, like: n1}}
  - {{name: n0, like: n1, draft: true}}
links:
  default: {{latency: {latency:.1f} us, bandwidth: {bandwidth:.3f} MB/s}}
"""
ACCEPTANCE, TOKENS, SEEDS = 0.8, 48, (1, 2, 3)
# The simulator's requests have a prompt of ones, on which the oracle's guesses
# hang.
ONES = ",".join(["1"] * 8)
CHAIN = ("--speculate-depth", "4", "--speculate-width", "1")
MODES = {"off": (), "sync": CHAIN, "async": ()}


class Runs:
    """The runs of one setting, taken together."""

    def __init__(self, results):
        self.results = results

    def speed(self):
        """Tokens after the first ones by their seconds."""
        seconds = sum((TOKENS - 1) / result["tokens_per_second"]
                      for result in self.results)
        return len(self.results) * (TOKENS - 1) / seconds

    def tokens(self):
        return [result["tokens"] for result in self.results]


def run_json(command):
    done = subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Play:
    """Runs of `program` and of the simulator beside it."""

    def __init__(self, program, simulator, folder):
        self.program, self.simulator = program, simulator
        self.folder = pathlib.Path(folder)
        self.instant = self.describe("instant", 0, 1e12)
        self.truth = run_json([program, "generate", "--json", "--tokens", ONES,
                               "--ignore-eos", "-n", TOKENS, "--speculate",
                               "off"])["tokens"]

    def describe(self, name, latency, bandwidth):
        """A description whose links take `latency` seconds and carry
        `bandwidth` bytes a second."""
        path = self.folder / f"{name}.yaml"
        path.write_text(DESCRIPTION.format(
            name=name, latency=1e6 * latency, bandwidth=1e-6 * bandwidth))
        return path

    def options(self, mode, seed):
        oracle = [] if mode == "off" else [
            "--oracle-acceptance", str(ACCEPTANCE), "--oracle-seed", str(seed)]
        return ["--tokens", ONES, "--ignore-eos", "-n", str(TOKENS),
                "--speculate", mode, *oracle, *MODES[mode]]

    def over_links(self, launcher, mode):
        return Runs([launcher.run("--emulate", self.instant,
                                  *self.options(mode, seed))
                     for seed in SEEDS])

    def emulated(self, description, mode):
        return Runs([run_json([self.program, "generate", "--json", "-t", "1",
                               "--emulate", description,
                               *self.options(mode, seed)])
                     for seed in SEEDS])

    def simulated(self, description, mode):
        outputs = ",".join(map(str, self.truth))
        settings = [word.replace("--speculate-", "--") for word in MODES[mode]]
        return Runs([run_json([self.simulator, description, "--json",
                               "--stages", "4", "--tokens", TOKENS,
                               "--prompt-tokens", "8", "--outputs", outputs,
                               "--acceptance", ACCEPTANCE, "--seed", seed,
                               "--speculate", mode, *settings])
                     for seed in SEEDS])
