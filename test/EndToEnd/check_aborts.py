#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills clients of a server at random moments, and looks for what they leave.

  check_aborts.py ./model [--clients N] [--within SECONDS] [--mpi NAME MPIRUN]
                  [--ranks N]

Each client is a process with a request of its own: some wait for their turn,
some are in their prompt, some are read from; all are killed within two seconds.
Then no row, queue entry or page may remain, which must be so --within a time
(default: 10 s, for loaded machines; what it took is printed), and the server
must go on.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import contextlib
import json
import os
import random
import signal
import sys
import time

from serving import PATIENCE, Server, check, run_cases, wait_until

SPREAD_S = 2.0
PROMPT = "A pass is"


def client(server, seed):
    """A child process that asks and reads until it is killed; its pid."""
    pid = os.fork()
    if pid:
        return pid
    # Whatever happens, it does not come back into the parent's code.
    try:
        choose = random.Random(seed)
        kind = choose.choice(["stream", "whole", "prompt", "many", "idle",
                              "half"])
        fields = {"prompt": PROMPT, "max_tokens": 1900, "ignore_eos": True,
                  "temperature": 1, "seed": seed}
        if kind == "prompt":
            fields["prompt"] = [choose.randrange(5, 4000) for _ in range(1500)]
            fields["max_tokens"] = 500
        elif kind == "many":
            fields.update(n=4, max_tokens=400)
        body = json.dumps({**fields, "stream": kind != "whole"}).encode()
        connection = server.connect()
        time.sleep(choose.uniform(0, SPREAD_S / 2))
        if kind == "idle":
            connection.connect()
        elif kind == "half":
            connection.putrequest("POST", "/v1/completions")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body[:20])
        else:
            connection.request("POST", "/v1/completions", body)
            response = connection.getresponse()
            while response.read1(4096):
                pass
        signal.pause()
    finally:
        os._exit(0)


def kill_clients(server, count, seed):
    """Returns the most that were seen to run, and to wait."""
    choose = random.Random(seed)
    pids = []
    try:
        most = [0, 0]

        def look():
            most[:] = map(max, most, server.work()[:2])

        for number in range(count):
            pids.append(client(server, seed + number))
        # A busy machine takes a while until there is something to abort.
        patient = time.monotonic() + PATIENCE
        while min(most) <= 4 and time.monotonic() < patient:
            look()
        begin = time.monotonic()
        dies_at = sorted((begin + choose.uniform(0, SPREAD_S), pid)
                         for pid in pids)
        for at, pid in dies_at:
            while time.monotonic() < at:
                look()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            pids.remove(pid)
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    check(most[0] > 4 and most[1] > 4, "there was nothing to abort", most)
    return most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--within", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", nargs=2, default=(None, None))
    parser.add_argument("--ranks", type=int, default=1)
    args = parser.parse_args()
    with Server([args.program], "--max-num-seqs", 8, mpi=args.mpi[0],
                mpirun=args.mpi[1], ranks=args.ranks) as server:
        before = server.complete(PROMPT, max_tokens=32)

        def aborts():
            most = kill_clients(server, args.clients, args.seed)
            took = server.wait_until_idle(args.within)
            return (f"up to {most[0]:.0f} ran and {most[1]:.0f} waited; all "
                    f"gone {1000 * took:.0f} ms after the last one")

        def goes_on():
            check(server.complete(PROMPT, max_tokens=32) == before,
                  "other tokens than before")
            server.wait_until_idle()
            # This connection is one.
            wait_until(lambda: server.metrics()["http_connections"] == 1,
                       "no connection is left")

        run_cases([aborts, goes_on])


if __name__ == "__main__":
    sys.exit(main())
