"""docs/results/cluster.md."""
import datetime
import os
import platform

from cluster_test import played
from cluster_test.network import RATES, SPOKEN


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def machine():
    model = next((line.split(":")[1].strip()
                  for line in open("/proc/cpuinfo") if "model name" in line),
                 platform.machine())
    return (f"{model}, {os.cpu_count()} cores, Linux {platform.release()}")


METHOD = """\
# Ranks on real links

Measured by

```
utils/cluster-test --record
```

on {date}; {machine}, load at the start {load:.1f}. {passed} checks passed, \
{failed} failed.

- The demo pair (7.3 and 1 million parameters, q8_0) is compiled for four stages \
and a draft: five ranks, each a process in a network namespace of its own. A veth \
pair leads from each namespace to a bridge in a sixth one; `tc`'s tbf shapes both \
its ends, so both directions. `mpirun` reaches the namespaces through a launch \
agent that it takes for ssh; `srun --mpi=pmix` through a slurmd in each \
(Slurm, with Open MPI's library).
- Messages go by TCP over these links alone: Open MPI has `btl self,tcp` on \
`eth0`, MPICH `UCX_TLS=tcp,self` on `eth0`. In each run the interfaces' counters \
must show at least the bytes that the program says it has sent from there.
- tbf lets a packet pass at once while its bucket is full ({buckets}). So a \
message of one packet takes none of the link's time, and a longer one that much \
less. Descriptions of links know nothing of this.
- All namespaces share this machine's cores and its clock. Between machines a \
message also passes two network cards and a switch.
"""

SPEED = """\
## Tokens and speed

{tokens} tokens behind a prompt, with the demo's draft (sync: a chain of 4). Each \
run gave the tokens of the same executable in one process. Nothing is emulated: \
five processes of a model this small are limited by the cores that they share.
"""

LINKS = """\
## What TCP gets from the links

Half of the median time of 64 bytes there and back, and a transfer of half a \
second, between two namespaces.
"""

PREDICTION = """\
## Prediction

The demo plays a model of four stages of some 8 ms a step and rows as long as its \
own, so that the cores do not limit and the same bytes travel everywhere \
(`utils/cluster_test/played.py`). *Real*: over the real links, steps padded by \
`--emulate`, links described as taking no time. *Emulated*: one process, \
`--emulate` with the links as measured above. *Simulated*: `sluice-sim` with the \
same description. The guesses are an oracle's of acceptance {acceptance}, the same \
draws everywhere; {tokens} tokens, {seeds} seeds taken together. 10 Mb/s \
is there because the faster links take only a few percent of such a run; there the \
real links beat their description where messages are one row, one packet (see above).
"""

FAULTS = """\
## Faults

Rank 2 of a running job is killed (`kill -9`), or its link is cut (`ip link set \
... down`). *Ranks gone*: until no process of the program is left, also behind \
the cut. *Launcher gone*: until mpirun or srun has ended; its exit status \
follows. A cut gives TCP no sign: the ranks find out by the heartbeats that they \
miss, and say so; the launchers by TCP's own repeats, of which Linux makes 15 in \
some 15 minutes if not told otherwise. Here they are 4 \
(`net.ipv4.tcp_retries2`), and Open MPI has \
`oob_tcp_keepalive_time 2`, `_intvl 1`, `_probes 3`.
"""


def write(path, results, passed, failed):
    buckets = ", ".join(f"{SPOKEN[rate]}: {size} bytes"
                        for rate, size in RATES.items())
    parts = [METHOD.format(date=datetime.date.today(), machine=machine(),
                           load=results["load"], passed=passed, failed=failed,
                           buckets=buckets)]
    for title, text in (("speed", SPEED), ("links", LINKS),
                        ("prediction", PREDICTION), ("faults", FAULTS)):
        if title in results:
            head, rows = results[title]
            parts.append(text.format(
                tokens=(played.TOKENS if title == "prediction" else
                        results["tokens"]), acceptance=played.ACCEPTANCE,
                seeds=len(played.SEEDS)) + "\n" + table(head, rows))
    path.write_text("\n".join(parts))
