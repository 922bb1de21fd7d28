#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks what a server does that has too little of something.

  check_shortages.py ./model [CASE...]

It has few descriptors, little memory, few threads, a full disk, no shared
memory, or no environment. Each request must be answered as it should be, or
with an error, or its connection must break; a server that has gone short of
something must be whole again afterwards, or has ended with status 1 and a
message at its start. Exit status: 0 when that holds, 1 when not.

Mounts file systems, so it must run in a mount namespace of its own, as root of
that: unshare [--user --map-root-user] --mount check_shortages.py ...
"""
import argparse
import concurrent.futures
import contextlib
import mmap
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

from rounds import (OPTIONS, REQUESTS, Tally, outcome, round_of, start,
                    whole)
from serving import Server, check, run_cases, wait_until

OTHER_USER = 61234  # nothing else runs as this one


@contextlib.contextmanager
def mounted(folder, options):
    """An empty file system in memory."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder],
                   check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def copied(program, options):
    """A copy of the program in a file system of its own."""
    with mounted("/mnt", options):
        yield shutil.copy(program, "/mnt")


def answers_of(server, pool):
    answers = round_of(server, pool)
    check(all(status == 200 for status, _ in answers), "not answered", answers)
    return answers


def with_few_descriptors(args, pool):
    """With too few of them for all, others are answered."""
    notes = []
    for files in (20, 32, 64):
        with Server([args.program], *OPTIONS) as server:
            expected = answers_of(server, pool)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE,
                             (files, files))
            held = [server.connect() for _ in range(100)]
            for connection in held:
                connection.connect()
            tally = Tally()
            for _ in range(3):
                tally.count(round_of(server, pool), expected)
            check(tally.outcomes["right"] > 0, "nobody is answered")
            for connection in held:
                connection.close()
            check(round_of(server, pool) == expected, "not whole any more")
        notes.append(f"{files}: {dict(tally.outcomes)}")
    return "; ".join(notes)


def with_few_descriptors_from_the_start(args, pool):
    tally = Tally()
    with Server([args.program], *OPTIONS) as server:
        expected = answers_of(server, pool)
    for files in range(4, 33):  # the loader needs one
        server = start(tally, ["prlimit", f"--nofile={files}", args.program],
                       *OPTIONS)
        if server:
            with server:
                outcomes = round_of(server, pool)
                tally.count(outcomes, expected)
                check(any(status == 200 for status, _ in outcomes),
                      "nobody is answered")
    return str(tally)


def with_little_memory(args, pool):
    """Whoever needs more than there is gets an error, the others none."""
    tally = Tally()
    large = whole("/tokenize", {"prompt": "some text " * (1 << 20)})
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    with Server([args.program], *OPTIONS) as server:
        pid = server.process.pid
        expected = answers_of(server, pool)
        refused = []
        for more in range(0, 40):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            used = int(re.search(r"^VmSize:\s+(\d+) kB", status, re.M)[1])
            limit = (used << 10) + (more << 20)
            resource.prlimit(pid, resource.RLIMIT_AS,
                             (limit, resource.RLIM_INFINITY))
            tally.points += 1
            asked = pool.submit(outcome, server, large)
            tally.count(round_of(server, pool), expected)
            if asked.result()[0] != 200:
                refused.append(more)
            resource.prlimit(pid, resource.RLIMIT_AS, unlimited)
            check(server.process.poll() is None, "it has ended", server.said())
        check(refused, "there was enough memory for all")
        check(round_of(server, pool) == expected, "not whole any more")
    return f"{tally}; {len(refused)} large ones not answered"


def with_few_threads(args, pool):
    """The user may have as many, from one on until that is enough."""
    tally = Tally()
    limited = ["prlimit", "--nproc={}"]
    with copied(args.program, "mode=777") as program:
        if subprocess.run(["setpriv", f"--reuid={OTHER_USER}", "true"],
                          stderr=subprocess.DEVNULL).returncode == 0:
            limited = ["setpriv", f"--reuid={OTHER_USER}",
                       f"--regid={OTHER_USER}", "--clear-groups", *limited]
        # Else threads of others may count too, such as this program's.
        for count in range(1, 200):
            words = [word.format(count) for word in limited]
            server = start(tally, [*words, program], *OPTIONS)
            if server:
                with server:
                    answers_of(server, pool)
                check(count > 1, "the limit is not kept")
                return f"{count} are enough; {tally}"
    check(False, "more than 200 threads")


def fill(path):
    """Until nothing more can be written there."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def with_a_full_disk(args, pool):
    """The weights cannot be packed to a file, and no request can be logged."""
    room = 2 * os.path.getsize(args.program)
    with copied(args.program, f"size={room}") as program:
        folder = pathlib.Path(program).parent
        fill(folder / "rest")
        with Server([program], *OPTIONS) as server:
            check("No space left on device" in server.said(), "not said",
                  server.said())
            expected = answers_of(server, pool)
        (folder / "rest").unlink()
        with open(folder / "log", "a+b") as log, \
                Server([program], "--log-requests", *OPTIONS,
                       log=log) as server:
            # What is left of the last page is not free any more.
            log.write(b"\n" * (-log.tell() % mmap.PAGESIZE))
            log.flush()
            fill(folder / "rest")
            check(round_of(server, pool) == expected, "not the same answers")
            time.sleep(1)  # the log is written ten times a second
            check(server.said().count("POST") == 0, "the disk was not full",
                  server.said())
            (folder / "rest").unlink()
            check(round_of(server, pool) == expected, "not whole any more")
            wait_until(lambda: server.said().count("POST") ==
                       2 * (len(expected) - 1), "all is logged")


def without_shared_memory(args, pool):
    with mounted("/dev/shm", "ro,size=4k"), \
            Server([args.program], *OPTIONS) as server:
        answers_of(server, pool)


def without_an_environment(args, pool):
    with Server(["env", "-i", args.program], *OPTIONS) as server:
        answers_of(server, pool)


CASES = [with_few_descriptors, with_few_descriptors_from_the_start,
         with_little_memory, with_few_threads, with_a_full_disk,
         without_shared_memory, without_an_environment]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_intermixed_args()
    chosen = [case for case in CASES
              if not args.cases or case.__name__ in args.cases]
    with concurrent.futures.ThreadPoolExecutor(len(REQUESTS) + 1) as pool:
        run_cases(chosen, args, pool)


if __name__ == "__main__":
    sys.exit(main())
