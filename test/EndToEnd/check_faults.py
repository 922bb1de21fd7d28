#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has calls of a server fail, one here and one there, and looks what it does.

  check_faults.py ./model libFaultyCalls.so [--points N] [--seed N] [CASE...]

Eight requests of different kinds are sent at once, again and again, and each
time another call of the server fails: to allocate, to start a thread, to open a
descriptor, to write, to map, to send, to receive. Or its clock jumps. Each
request must be answered as it should be, or with an error, or its connection
must break; the server must go on unharmed, or end with status 1 and a message.
Likewise for calls of its start. Exit status: 0 when that holds, 1 when not.

A case has as many points as it has calls, or N of them, spread evenly.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import http.client
import itertools
import mmap
import pathlib
import random
import struct
import sys
import tempfile

from rounds import OPTIONS, REQUESTS, Tally, check_end, round_of, start
from serving import Failure, Server, check, run_cases

KINDS = ["allocate", "thread", "descriptor", "write", "map", "connect", "send",
         "receive"]


class Faults:
    """What libFaultyCalls.so does in a process; see its source."""

    def __init__(self, library):
        self._file = tempfile.NamedTemporaryFile()
        self._file.write(bytes(8 * (5 + len(KINDS))))
        self._file.flush()
        self._shared = mmap.mmap(self._file.fileno(), 0)
        self.environment = {"LD_PRELOAD": library,
                            "SLUICE_FAULTS_FILE": self._file.name}

    def _get(self, index):
        return struct.unpack_from("q", self._shared, 8 * index)[0]

    def _set(self, index, value):
        struct.pack_into("q", self._shared, 8 * index, value)

    def arm(self, kind, first, count):
        """Calls from now on count from 0, and these fail."""
        self._set(0, 0)
        self._set(1, first)
        self._set(2, count)
        self._set(3, 0)
        self._set(4 + KINDS.index(kind), 0)
        self._set(0, 1 + KINDS.index(kind))

    def disarm(self):
        """How many calls have failed."""
        self._set(0, 0)
        return self._get(3)

    def set_clock_wrong_by(self, seconds):
        self._set(4 + len(KINDS), seconds)

    def calls(self, kind):
        return self._get(4 + KINDS.index(kind))


def points_of(count, args):
    """From 0 on: all, or some of them."""
    if args.at:
        return range(*map(int, args.at.split(":")))
    if count <= args.points:
        return range(count)
    rng = random.Random(args.seed)
    return sorted(int((i + rng.random()) * count / args.points)
                  for i in range(args.points))


class Running:
    """A server that is started again where it has ended."""

    def __init__(self, args, pool):
        self.args, self.pool = args, pool
        self.faults = Faults(args.library)
        self.server = None
        self.expected = None

    def __enter__(self):
        self.start()
        self.expected = round_of(self.server, self.pool)
        check(all(status == 200 for status, _ in self.expected),
              "not answered", self.expected)
        return self

    def __exit__(self, kind, *_):
        self.faults.disarm()
        self.server.__exit__(kind, None, None)

    def start(self):
        self.server = Server([self.args.program], *OPTIONS,
                             environment=self.faults.environment)

    def restart(self):
        self.server.kill()
        self.start()

    def is_healthy(self):
        """If not, it is about to end."""
        try:
            return self.server.get("/health").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def calls_of_a_round(self, kind):
        self.faults.arm(kind, 0, 0)
        round_of(self.server, self.pool)
        self.faults.disarm()
        return self.faults.calls(kind)

    def try_point(self, kind, first, count, tally):
        self.faults.arm(kind, first, count)
        outcomes = round_of(self.server, self.pool)
        self.faults.disarm()
        tally.points += 1
        tally.count(outcomes, self.expected)
        if count == 1:
            harmed = [status for status, _ in outcomes if status != 200]
            check(len(harmed) <= 1, "one failure harms several", harmed)
        if self.is_whole():
            return
        check(count > 1, "one failure ends the server", self.server.said())
        tally.ends += 1
        check_end(self.server.wait(), self.server.said())
        self.start()
        check(self.is_whole(), "not whole after a new start")

    def is_whole(self):
        """If not, it is about to end: it may notice so only after it has
        answered /health."""
        return (self.is_healthy() and
                round_of(self.server, self.pool) == self.expected)


@contextlib.contextmanager
def named(kind, first, count, calls, args):
    """Says at which point something is wrong."""
    try:
        yield
    except Failure as failure:
        problem = f"{kind} {first} to {first + count - 1} of {calls}: {failure}"
        if not args.keep_going:
            raise Failure(problem) from None
        print(problem[:1000], flush=True)


def while_it_serves(kind, count, args, pool):
    tally = Tally()
    with Running(args, pool) as running:
        calls = running.calls_of_a_round(kind)
        for first in points_of(calls, args):
            with named(kind, first, count, calls, args):
                running.try_point(kind, first, count, tally)
            if not running.is_healthy():
                running.server.kill()
                running.start()
    return f"{calls} calls a round, {count} fail; {tally}"


def in_the_first_round(kind, count, args, pool):
    """What is done for the first requests alone fails, too."""
    tally = Tally()
    with Running(args, pool) as running:
        running.restart()
        calls = running.calls_of_a_round(kind)
        for first in points_of(calls, args):
            with named(kind, first, count, calls, args):
                running.restart()
                running.try_point(kind, first, count, tally)
    return f"{calls} calls a round, {count} fail; {tally}"


def while_it_starts(kind, count, args, pool):
    tally = Tally()
    with Running(args, pool) as running:
        expected = running.expected
    pathlib.Path(args.program + ".weights").unlink(missing_ok=True)
    faults = Faults(args.library)
    faults.arm(kind, 0, 0)
    # Calls of the start alone: none for a connection.
    with Server([args.program], *OPTIONS, environment=faults.environment,
                asks_health=False):
        calls = faults.calls(kind)
    for first in points_of(calls, args):
        if kind in ("write", "map"):  # so that it packs its weights
            pathlib.Path(args.program + ".weights").unlink(missing_ok=True)
        faults.arm(kind, first, count)
        with named(kind, first, count, calls, args):
            server = start(tally, [args.program], *OPTIONS,
                           environment=faults.environment)
            faults.disarm()
            if not server:
                continue
            with server:
                tally.count(round_of(server, pool), expected)
                check(round_of(server, pool) == expected, "not whole")
    return f"{calls} calls, {count} fail; {tally}"


def nothing_is_begun_by_a_request(args, pool):
    """Not even the first requests start threads, map or write files: all that
    could fail then has been done at the start."""
    faults = Faults(args.library)
    kinds = ["thread", "write", "map", "connect"]
    with Server([args.program], *OPTIONS, environment=faults.environment,
                asks_health=False) as server:
        before = {kind: faults.calls(kind) for kind in kinds}
        round_of(server, pool)
        for kind in kinds:
            check(faults.calls(kind) == before[kind], kind,
                  faults.calls(kind) - before[kind])
    return ", ".join(f"{before[kind]} {kind}" for kind in kinds) + " before"


def with_a_clock_that_jumps(args, pool):
    with Running(args, pool) as running:
        for seconds in (86400, -86400, 10**9, 0):
            running.faults.set_clock_wrong_by(seconds)
            check(round_of(running.server, pool) == running.expected,
                  "not answered as before", seconds)


def cases():
    # What a server does not do while it serves, or before it serves, is left
    # out.
    kinds = {while_it_serves: ["allocate", "descriptor", "send",
                               "receive"],
             in_the_first_round: ["allocate"],
             while_it_starts: ["allocate", "thread", "descriptor", "write",
                               "map"]}
    for case, count in itertools.product(kinds, [1, 20]):
        for kind in kinds[case]:
            one = functools.partial(case, kind, count)
            one.__name__ = f"{kind}_{case.__name__}_{count}"
            yield one
    yield nothing_is_begun_by_a_request
    yield with_a_clock_that_jumps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--points", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", metavar="FIRST:END",
                        help="these points alone")
    parser.add_argument("--keep-going", action="store_true",
                        help="say what is wrong, and go on")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_intermixed_args()
    chosen = [case for case in cases()
              if not args.cases or any(case.__name__.startswith(name)
                                       for name in args.cases)]
    with concurrent.futures.ThreadPoolExecutor(len(REQUESTS)) as pool:
        run_cases(chosen, args, pool)


if __name__ == "__main__":
    sys.exit(main())
