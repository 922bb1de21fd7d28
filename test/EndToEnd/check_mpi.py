#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program's ranks as processes under an mpirun, and disturbs them.

  check_mpi.py openmpi|mpich MPIRUN ./model ./other --slow CLUSTER.yaml
  check_mpi.py openmpi|mpich MPIRUN ./model --ranks N --modes MODE,MODE

./model has 5 ranks, and so has ./other, of another plan. Checked are: the tokens
of each mode of speculation against those of one process; jobs of too few and too
many ranks; an interruption of all ranks while long steps are computed; a rank
that is killed, one that is terminated, one that is stopped, and one of another
plan, in the middle of a run that --emulate makes slow. Each of these must end
with status other than 0, say why, leave no process behind and take no longer than
the limit.
Without --slow, as for groups of ranks, which are not emulated, a long run is as
fast as it is, and there is no interruption. Without ./other only the tokens are
checked.
Exit status: 0 when all is as it should be, 1 when not.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 5
# What users are promised, and what a loaded machine may add to it.
LIMIT_S, MARGIN_S = 5, 60
# For what nobody promises how long it takes. A token of eight ranks is a hundred
# messages one behind the other, and where others keep all cores busy each waits
# for its reader's turn, which can be a tenth of a second: seconds a token.
PATIENCE_S = 400

OPTIONS = {
    # Where several tests share the cores; and without reads from another
    # process's memory, which containers forbid.
    "openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                "--mca", "btl_vader_single_copy_mechanism", "none"],
    "mpich": ["-iface", "lo"],
}
RANK_VARIABLE = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}
# How the launcher itself names a rank that was killed.
KILLED = {"openmpi": r"process rank 2 .*signal 9",
          "mpich": r"EXIT CODE: 9|signal 9"}


def ranks_of(program):
    """The living processes of `program`; those that nobody has waited for have
    no executable any more."""
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if os.path.samefile(process / "exe", program):
                yield int(process.name)
        except OSError:
            continue


class Job:
    """A program's ranks under mpirun, with what they print in files."""

    def __init__(self, args, command, folder):
        self.args = args
        self.paths = [pathlib.Path(folder, name) for name in ("out", "err")]
        environment = {"HOME": "/tmp", **os.environ}
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(
                [args.mpirun, *OPTIONS[args.mpi], *command], stdout=out,
                stderr=err, stdin=subprocess.DEVNULL, env=environment)

    def text(self):
        return "".join(path.read_text(errors="replace") for path in self.paths)

    def out(self):
        return self.paths[0].read_text(errors="replace")

    def complaints(self):
        return re.findall(r"^(?:m|other): error: .*$", self.text(), re.M)

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            sys.exit(f"mpirun still runs after {seconds} s:\n{self.text()}")

    def find_rank(self, rank):
        wanted = f"{RANK_VARIABLE[self.args.mpi]}={rank}".encode()
        for pid in ranks_of(self.args.program):
            if wanted in pathlib.Path(f"/proc/{pid}/environ").read_bytes(
            ).split(b"\0"):
                return pid
        sys.exit(f"there is no rank {rank}:\n{self.text()}")

    def wait_for_text(self):
        """Until it generates."""
        start = time.monotonic()
        while not self.out():
            late = time.monotonic() > start + PATIENCE_S
            if self.process.poll() is not None or late:
                sys.exit(f"nothing is generated:\n{self.text()}")
            time.sleep(0.05)

    def end(self):
        """Whatever happened, nothing is left of it."""
        for program in filter(None, (self.args.program, self.args.other)):
            for pid in ranks_of(program):
                os.kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def check(truth, what, job):
    if not truth:
        sys.exit(f"{what}:\n{job.text()}")


def check_gone(job):
    deadline = time.monotonic() + MARGIN_S
    while left := [*ranks_of(job.args.program), *ranks_of(job.args.other)]:
        check(time.monotonic() < deadline, f"processes are left: {left}", job)
        time.sleep(0.05)


def generate(args, *extra, tokens=48):
    return [args.program, "generate", "-p", "It was a bright", "--ignore-eos",
            "-n", tokens, *extra]


def check_tokens(args, start):
    command = generate(args, "--json", "--speculate", "off")
    alone = subprocess.run([*map(str, command)], capture_output=True,
                           check=True)
    tokens = json.loads(alone.stdout)["tokens"]
    assert len(tokens) == 48
    for mode in args.modes.split(","):
        job = start(["-n", RANKS, *generate(args, "--json", "--speculate",
                                            mode)])
        check(job.wait(PATIENCE_S) == 0, f"--speculate {mode} fails", job)
        result = json.loads(job.out())
        check(result["tokens"] == tokens, f"--speculate {mode}: other tokens",
              job)
        spoken = [line for line in job.text().splitlines()
                  if re.match(rf"rank \d of {RANKS}: ", line)]
        check(len(spoken) == RANKS, "roles are missing", job)


def check_count(args, start):
    # Rank 0, which says why, begins later than those that fail in silence.
    late = ["-n", 1, "sh", "-c", 'sleep 0.5; exec "$@"', "sh", *generate(args)]
    for ranks in (RANKS - 2, RANKS + 1):
        job = start([*late, ":", "-n", ranks - 1, *generate(args)])
        check(job.wait(PATIENCE_S) == 1, f"{ranks} ranks: status is not 1", job)
        lines = job.complaints()
        check(len(lines) == 1 and f"needs {RANKS} ranks" in lines[0] and
              f"started {ranks}" in lines[0], f"{ranks} ranks: no such line",
              job)
        check_gone(job)


def disturb(args, start, number):
    """The job after rank 2 has got a signal, and how long it then took."""
    emulation = ["--emulate", args.slow] if args.slow else []
    job = start(["-n", RANKS, *generate(args, *emulation, tokens=2000)])
    job.wait_for_text()
    victim = job.find_rank(2)
    begin = time.monotonic()
    os.kill(victim, number)
    status = job.wait(PATIENCE_S)
    seconds = time.monotonic() - begin
    check(status != 0, "status 0 after a rank was lost", job)
    check(seconds < LIMIT_S + MARGIN_S, f"it took {seconds:.1f} s", job)
    return job, seconds


def check_interrupted(args, start):
    """Ctrl-C reaches all ranks. The text ends in order, however long the steps
    are that are being computed."""
    if not args.slow:
        return
    path = pathlib.Path(args.folder, "sleepy.yaml")
    path.write_text(pathlib.Path(args.slow).read_text().replace(
        "overhead: 50 ms", "overhead: 3 s"))
    job = start(["-n", RANKS, *generate(args, "--json", "--emulate", path,
                                        "--emulate-max-latency-us", 0)])
    begin = time.monotonic()
    while len(re.findall(rf"^rank \d of {RANKS}: ", job.text(), re.M)) < RANKS:
        check(time.monotonic() < begin + PATIENCE_S, "the ranks do not start",
              job)
        time.sleep(0.05)
    time.sleep(1)
    for pid in ranks_of(args.program):
        os.kill(pid, signal.SIGINT)
    check(job.wait(PATIENCE_S) == 0, "the interruption fails", job)
    check(json.loads(job.out())["finish_reason"] == "cancelled",
          "it is not cancelled", job)
    check(not job.complaints(), "it complains", job)
    check_gone(job)


def check_quiet(args, start):
    """What a library of MPI has to say does not get into the output."""
    if args.mpi != "mpich":
        return
    job = start(["-genv", "UCX_LOG_LEVEL", "info", "-n", RANKS,
                 *generate(args, "--json", tokens=4)])
    check(job.wait(PATIENCE_S) == 0, "it fails", job)
    check("UCX" in job.text(), "UCX says nothing", job)
    check(len(json.loads(job.out())["tokens"]) == 4, "other output", job)


def check_killed(args, start):
    job, seconds = disturb(args, start, signal.SIGKILL)
    check(re.search(KILLED[args.mpi], job.text()), "no word of the dead", job)
    check_gone(job)
    return seconds


def check_terminated(args, start):
    job, seconds = disturb(args, start, signal.SIGTERM)
    check("rank 2: terminated by a signal" in
          [line.split(": error: ")[1] for line in job.complaints()],
          "no word of the signal", job)
    check_gone(job)
    return seconds


def check_stopped(args, start):
    job, seconds = disturb(args, start, signal.SIGSTOP)
    check(any("rank 2 does not answer" in line for line in job.complaints()),
          "no word of the silent", job)
    # Nobody can end in order what has been stopped.
    for pid in ranks_of(args.program):
        os.kill(pid, signal.SIGKILL)
    check_gone(job)
    return seconds


def check_other_plan(args, start):
    other = [args.other, *generate(args)[1:]]
    job = start(["-n", RANKS - 1, *generate(args), ":", "-n", 1, *other])
    check(job.wait(PATIENCE_S) == 1, "status is not 1", job)
    check(any(f"rank {RANKS - 1}: its plan is" in line
              for line in job.complaints()), "no word of another plan", job)
    check_gone(job)


CASES = [check_tokens, check_quiet, check_count, check_interrupted,
         check_killed, check_terminated, check_stopped, check_other_plan]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpi", choices=OPTIONS)
    parser.add_argument("mpirun")
    parser.add_argument("program")
    parser.add_argument("other", nargs="?")
    parser.add_argument("--slow")
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--modes", default="off,sync,async")
    args = parser.parse_args()
    globals()["RANKS"] = args.ranks
    with tempfile.TemporaryDirectory() as folder:
        args.folder = folder
        for case in CASES if args.other else [check_tokens]:
            jobs = []

            def start(command):
                jobs.append(Job(args, [str(c) for c in command], folder))
                return jobs[-1]

            begin = time.monotonic()
            try:
                ended_after = case(args, start)
            finally:
                for job in jobs:
                    job.end()
            print(f"{case.__name__}: {time.monotonic() - begin:.1f} s" +
                  (f", ended after {ended_after:.1f} s" if ended_after else ""))


if __name__ == "__main__":
    main()
