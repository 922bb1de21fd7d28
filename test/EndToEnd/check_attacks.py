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
import functools
import sys
import time

from bystander import Bystander
from serving import Server, check, check_error, run_cases, wait_until

MOST_GROWTH = 600 << 20  # bytes


def attacked(case):
    """Runs a case beside a bystander, and shows what that has seen."""
    @functools.wraps(case)
    def run(server):
        with Bystander(server) as bystander:
            note = case(server, bystander)
        server.wait_until_idle()
        check(bystander.growth <= MOST_GROWTH, "the memory grew",
              bystander.growth)
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


CASES = [repetitions_within_repetitions, rules_that_double,
         large_grammars_again_and_again, schemas_that_compare,
         clients_that_leave_their_grammars]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    cases = [case for case in CASES
             if not args.cases or case.__name__ in args.cases]
    with Server([args.program]) as server:
        run_cases(cases, server)


if __name__ == "__main__":
    sys.exit(main())
