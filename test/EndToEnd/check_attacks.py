#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attacks a server with what small requests can ask for, beside a bystander.

  check_attacks.py ./model [CASE...]

Each case says what the bystander has seen of it. Exit status: 0 when every
request has been answered as it should be and the bystander has had its tokens,
1 when not.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import json
import resource
import socket
import sys
import time

from bystander import Bystander, memory_of
from serving import PATIENCE, Server, check, check_error, run_cases, wait_until

MOST_GROWTH = 600 << 20  # bytes
# Whoever waits longer for a token is held up; milliseconds are usual.
MOST_SECONDS = 10
KEY = "the-bystanders-key"


def attacked(case):
    """Runs a case beside a bystander, and shows what that has seen."""
    @functools.wraps(case)
    def run(server):
        with Bystander(server) as bystander:
            note = case(server, bystander)
        server.wait_until_idle()
        check(bystander.growth <= MOST_GROWTH, "the memory grew",
              bystander.growth)
        check(bystander.longest_gap <= MOST_SECONDS, "the bystander waited",
              bystander.longest_gap)
        return "; ".join(filter(None, [note, str(bystander)]))
    return run


def all_at_once(count, ask, bystander):
    """The answers of so many clients that ask at the same time."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        asked = [pool.submit(ask, i) for i in range(count)]
        while any(not each.done() for each in asked):
            bystander.look()
            time.sleep(0.02)
        return [each.result() for each in asked]


def with_grammar(server, grammar, **parameters):
    return server.post("/v1/completions", {
        "prompt": "A", "max_tokens": 16, "grammar": grammar, **parameters})


@attacked
def repetitions_within_repetitions(server, bystander):
    """46 bytes that stand for 10^8 copies."""
    def ask(i):
        return with_grammar(server, "root ::= ((((\"a\"{0,%d}){0,100}){0,100})"
                            "{0,100}){0,100}" % (100 + i))
    for answer in all_at_once(4, ask, bystander):
        check_error(answer, 400, param="grammar")


@attacked
def rules_that_double(server, bystander):
    """Each rule is two of the next: a text can be read in too many ways."""
    def ask(i):
        rules = "".join(f"r{n} ::= r{n + 1} r{n + 1} | [a-z {i}]\n"
                        for n in range(24))
        return with_grammar(server, f"root ::= r0\n{rules}r24 ::= [a-z ]")
    for answer in all_at_once(4, ask, bystander):
        check_error(answer, 500, says="too ambiguous")


@attacked
def large_grammars_again_and_again(server, bystander):
    """Eight clients repeat a grammar of 60,000 rules that is refused."""
    rules = "".join(f"r{n} ::= \"a\" r{n}x\n" for n in range(40000))
    grammar = f"root ::= r0\n{rules}"
    def ask(_):
        for _ in range(3):
            check_error(with_grammar(server, grammar), 400, param="grammar")
    all_at_once(8, ask, bystander)
    return f"a grammar of {len(grammar) >> 10} KiB"


@attacked
def schemas_that_compare(server, bystander):
    """Thousands of values against thousands."""
    def ask(i):
        values = list(range(i, 16000 + i))
        return server.post("/v1/completions", {
            "prompt": "A", "max_tokens": 4,
            "json_schema": {"allOf": [{"enum": values}, {"enum": values}]}})
    for answer in all_at_once(4, ask, bystander):
        check_error(answer, 400, param="json_schema")


@attacked
def clients_that_leave_their_grammars(server, bystander):
    """The work ends when nobody waits for it any more."""
    grammar = "root ::= ((((\"b\"{0,99}){0,99}){0,99}){0,99}){0,%d}"
    for i in range(20):
        connection = server.connect()
        connection.request("POST", "/v1/completions",
                           '{"prompt": "A", "grammar": "%s"}' %
                           (grammar % (50 + i)).replace('"', '\\"'),
                           {"Content-Type": "application/json"})
        connection.close()
        bystander.look()
    wait_until(lambda: server.metrics()["num_requests_waiting"] == 0,
               "nothing waits")


def attacking_socket(server, patience=30):
    """From another address than the bystander's."""
    return socket.create_connection((server.host, server.port), patience,
                                    source_address=("127.0.0.2", 0))


@contextlib.contextmanager
def attacking_sockets(server, count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(attacking_socket(server))
               for _ in range(count)]


def header_of(path, length):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {length}\r\n\r\n").encode()


def look_for(seconds, bystander):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        bystander.look()
        time.sleep(0.05)


@attacked
def connections_that_say_nothing(server, bystander):
    """More than there may be, each with half a header; fewer where this
    process may not have so many files open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    with attacking_sockets(server, min(3000, files - 200)) as held:
        for each in held:
            with contextlib.suppress(OSError):  # it had to give way
                each.sendall(b"GET / HTTP/1.1\r\nHost: local")
        look_for(1, bystander)
        check(server.get("/health").status == 200, "no health")
        check(server.complete("A", max_tokens=1), "no place for a request")


@attacked
def bodies_that_never_end(server, bystander):
    """As many bytes as all bodies may have, and more."""
    length = 32 << 20
    part = b" " * (1 << 20)
    with attacking_sockets(server, 12) as held:
        for each in held:
            with contextlib.suppress(OSError):  # refused
                each.sendall(header_of("/v1/completions", length))
                for _ in range(length // len(part) - 1):
                    each.sendall(part)
        look_for(1, bystander)
        answer = server.post("/tokenize", {"prompt": "x" * (4 << 20)})
        check(answer.status == 200, "no room for a body", answer)


@attacked
def answers_that_nobody_reads(server, bystander):
    """25 of 8 MB."""
    body = json.dumps({"prompt": "a b " * 250_000,
                       "return_token_strs": True}).encode()
    with attacking_sockets(server, 25) as held:
        for each in held:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall(header_of("/tokenize", len(body)) + body)
            bystander.look()
        wait_until(lambda: server.metrics()["num_requests_waiting"] == 0,
                   "all are answered")
        look_for(1, bystander)
        check(server.get("/health").status == 200, "no health")


@attacked
def bodies_of_small_values(server, bystander):
    """Which take many times their size in memory."""
    def ask(i):
        body = b'{"prompt":[' + b"[]," * (5_000_000 + i) + b"[]]}"
        check_error(server.post("/v1/completions", body,
                                {"Content-Type": "application/json"}),
                    413, says="in memory")
    all_at_once(4, ask, bystander)


@attacked
def one_that_asks_for_all(server, bystander):
    """128 choices, before all others; three times."""
    body = json.dumps({"prompt": "A", "n": 128, "max_tokens": 4,
                       "priority": -1000, "ignore_eos": True}).encode()
    def ask(_):
        with attacking_socket(server, PATIENCE) as one:
            one.sendall(header_of("/v1/completions", len(body)) + body)
            check(one.recv(12) == b"HTTP/1.1 200", "not answered")
    all_at_once(3, ask, bystander)


def send_completion(connection, **parameters):
    body = json.dumps({"prompt": "A", "ignore_eos": True, **parameters})
    connection.sendall(header_of("/v1/completions", len(body)) + body.encode())


@attacked
def long_ones_in_all_slots(server, bystander):
    """They take turns with short ones, of which two always wait or run."""
    with attacking_sockets(server, 4) as held:
        for each in held:
            send_completion(each, n=32, max_tokens=400)
        def ask(_):
            return [server.complete("A pass", max_tokens=8, ignore_eos=True)
                    for _ in range(40)]
        begun = time.monotonic()
        answers = all_at_once(2, ask, bystander)
        took = time.monotonic() - begun
        check(all(each == answers[0][0] for some in answers for each in some),
              "not the same text", answers)
        running = server.metrics()["num_requests_running"]
        check(running > 2, "the long ones have ended before", running)
    return f"80 short ones in {took:.1f} s"


@attacked
def requests_in_all_places(server, bystander):
    """As many as there may be connections; half of them are taken."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    with attacking_sockets(server, min(2100, files - 200)) as held:
        for each in held:
            with contextlib.suppress(OSError):  # refused
                send_completion(each, max_tokens=400)
        look_for(1, bystander)
        check(server.get("/health").status == 200, "no health")
        check(server.complete("A", max_tokens=1), "no place for a request")


@attacked
def watchers_in_all_places(server, bystander):
    """More than there may be, of the server's state."""
    with attacking_sockets(server, 80) as held:
        for each in held:
            each.sendall(b"GET /status/events HTTP/1.1\r\n"
                         b"Host: localhost\r\n\r\n")
        look_for(1, bystander)
        with contextlib.closing(server.connect()) as connection:
            connection.request("GET", "/status/events")
            check(connection.getresponse().status == 200, "may not watch")


@attacked
def clients_without_a_key(server, bystander):
    """They are refused at the end of their headers, and their bodies, which
    come slowly, hold up nobody. For the server with keys."""
    with attacking_sockets(server, 8) as held:
        for each in held:
            each.sendall(header_of("/v1/completions", 32 << 20) + b"{")
        for each in held:
            check(each.recv(12) == b"HTTP/1.1 401", "not refused")
        for _ in range(20):
            for each in held:
                with contextlib.suppress(OSError):  # it has been closed
                    each.sendall(b" ")
            look_for(0.05, bystander)
        check(server.complete("A", max_tokens=1), "no place for a request")


CASES = [repetitions_within_repetitions, rules_that_double,
         large_grammars_again_and_again, schemas_that_compare,
         clients_that_leave_their_grammars, connections_that_say_nothing,
         bodies_that_never_end, answers_that_nobody_reads,
         bodies_of_small_values, one_that_asks_for_all,
         long_ones_in_all_slots, requests_in_all_places,
         watchers_in_all_places]
CASES_WITH_KEYS = [clients_without_a_key]


def memory_comes_back(server, before):
    """What the attacks have left is given back within a few seconds."""
    most = before + (128 << 20)
    took = wait_until(lambda: memory_of(server.process.pid) <= most,
                      "the memory has come back")
    now = memory_of(server.process.pid)
    print(f"memory_comes_back: {took:.1f} s, {before >> 20} MiB before, "
          f"{now >> 20} MiB after")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    def chosen(cases):
        return [case for case in cases
                if not args.cases or case.__name__ in args.cases]
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with Server([args.program]) as server:
        server.complete("A", max_tokens=1)
        before = memory_of(server.process.pid)
        run_cases(chosen(CASES), server)
        memory_comes_back(server, before)
    with Server([args.program], "--api-key", KEY, key=KEY) as server:
        run_cases(chosen(CASES_WITH_KEYS), server)


if __name__ == "__main__":
    sys.exit(main())
