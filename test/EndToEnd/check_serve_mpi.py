#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends a server whose ranks are processes, in order and otherwise.

  check_serve_mpi.py openmpi|mpich MPIRUN ./model --ranks N --slow CLUSTER.yaml

SIGTERM for all ranks: what runs is finished, what comes is refused, status 0. A
rank that is killed, or stopped: the stream that runs ends with an error, and so
does the job, in the time that users are promised, and no process is left.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import contextlib
import http.client
import os
import pathlib
import signal
import sys
import time

from check_mpi import LIMIT_S, MARGIN_S, OPTIONS, RANK_VARIABLE, ranks_of
from serving import Server, check, check_error, run_cases, wait_until

PATH = "/v1/completions"


def start(args):
    return Server([args.program], "--emulate", args.slow,
                  "--emulate-max-latency-us", 0, mpi=args.mpi,
                  mpirun=args.mpirun, ranks=args.ranks)


def stream_of(server, tokens):
    stream = server.stream(PATH, {"prompt": "It was a bright", "temperature": 0,
                                  "ignore_eos": True, "max_tokens": tokens})
    check(stream.status == 200, "no stream", stream.status)
    return stream


def drained(args):
    with start(args) as server:
        with stream_of(server, 30) as stream:
            server.terminate()
            wait_until(lambda: server.get("/health").status == 503,
                       "it is not healthy any more")
            check_error(server.post(PATH, {"prompt": "a"}), 503)
            events = list(stream)
        check(stream.isDone and
              events[-1]["choices"][0]["finish_reason"] == "length",
              "the stream was cut off", events[-1])
        check(server.wait() == 0, "the status after a drain")
        check(not list(ranks_of(args.program)), "ranks are left")


def lose(args, number):
    """The second rank gets a signal while a stream runs."""
    with start(args) as server:
        with stream_of(server, 1500) as stream:
            events = iter(stream)
            next(events)
            wanted = f"{RANK_VARIABLE[args.mpi]}=1".encode()
            victim = next(pid for pid in server.pids() if wanted in
                          pathlib.Path(f"/proc/{pid}/environ").read_bytes()
                          .split(b"\0"))
            begin = time.monotonic()
            os.kill(victim, number)
            # An error as its last event, or the connection breaks.
            last = {}
            with contextlib.suppress(http.client.HTTPException, OSError):
                for last in events:
                    pass
            check("error" in last or not stream.isDone,
                  "the stream ends as if nothing were", last)
        status = server.wait()
        seconds = time.monotonic() - begin
        check(status != 0, "status 0 after a rank was lost")
        check(seconds < LIMIT_S + MARGIN_S, f"it took {seconds:.1f} s")
        if number == signal.SIGSTOP:  # nobody can end it in order
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        wait_until(lambda: not list(ranks_of(args.program)), "no rank is left")
        how = "an error" if "error" in last else "a broken connection"
        return f"{how} for the client, ended after {seconds:.1f} s"


def rank_killed(args):
    return lose(args, signal.SIGKILL)


def rank_stopped(args):
    return lose(args, signal.SIGSTOP)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpi", choices=OPTIONS)
    parser.add_argument("mpirun")
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--slow", required=True)
    args = parser.parse_args()
    run_cases([drained, rank_killed, rank_stopped], args)


if __name__ == "__main__":
    sys.exit(main())
