# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounds of eight requests at once, and what becomes of them on a server that
lacks something."""
import collections
import concurrent.futures
import http.client
import json

from serving import Failure, Server, check, text_of

MOST_SECONDS = 120  # for a round on a loaded machine; milliseconds are usual
OPTIONS = ["--max-num-seqs", 4, "-c", 256, "-t", 1]


def whole(path, body):
    def ask(server):
        answer = server.post(path, body)
        if answer.status != 200:
            return answer.status, None
        try:
            return 200, answer.json()
        except json.JSONDecodeError:
            return 200, answer.body
    return ask


def streamed(body):
    def ask(server):
        with server.stream("/v1/completions", body) as stream:
            if stream.status != 200:
                return stream.status, None
            events = list(stream)
            if any("error" in event for event in events) or not stream.isDone:
                return 500, None
            return 200, text_of(events)
    return ask


def of_metrics(server):
    return server.get("/metrics").status, None


GREEDY = {"temperature": 0, "max_tokens": 8}
REQUESTS = [
    whole("/v1/completions", {"prompt": "A pass is", **GREEDY}),
    whole("/v1/completions", {"prompt": ["One", "Two"], "n": 2, "seed": 3,
                              "max_tokens": 6}),
    whole("/v1/completions", {"prompt": "The", "logprobs": 3, **GREEDY}),
    whole("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Name a pass."}],
        "response_format": {"type": "json_object"}, **GREEDY}),
    whole("/v1/completions", {
        "prompt": "A", "grammar": "root ::= [a-c]{4}", **GREEDY}),
    streamed({"prompt": "A pass is a", **GREEDY}),
    whole("/tokenize", {"prompt": "some text"}),
    of_metrics,
]


def told(value):
    """Without what differs from time to time."""
    if isinstance(value, dict):
        return {key: told(item) for key, item in value.items()
                if key not in ("id", "created", "prompt_tokens_details")}
    if isinstance(value, list):
        return [told(item) for item in value]
    return value


def outcome(server, ask):
    """What has come of a request: its status and what it says; no status where
    the connection broke."""
    try:
        status, said = ask(server)
        return status, told(said)
    except (OSError, http.client.HTTPException):
        return None, None


def round_of(server, pool):
    """All requests at once."""
    asked = [pool.submit(outcome, server, ask) for ask in REQUESTS]
    done, late = concurrent.futures.wait(asked, timeout=MOST_SECONDS)
    if late:
        server.kill()  # so that the threads come back
        raise Failure(f"requests {[asked.index(each) for each in late]} "
                      "are not answered")
    return [each.result() for each in asked]


class Tally:
    def __init__(self):
        self.points = self.ends = 0
        self.outcomes = collections.Counter()

    def count(self, outcomes, expected):
        for (status, said), (_, wanted) in zip(outcomes, expected):
            if status == 200:
                check(said == wanted, "a wrong answer", said, wanted)
            self.outcomes["right" if status == 200 else
                          "broken" if status is None else "refused"] += 1

    def __str__(self):
        return (f"{self.points} points; requests: " + ", ".join(
            f"{count} {name}" for name, count in sorted(self.outcomes.items()))
            + f"; orderly ends: {self.ends}")


def check_end(status, said):
    """Of a server that could not go on."""
    check(status == 1, "the exit status", status, said)
    check("error: " in said, "it says nothing", said)


def start(tally, *arguments, **keywords):
    """A server, or None if it has ended in order instead."""
    tally.points += 1
    try:
        return Server(*arguments, **keywords, asks_health=False)
    except Failure as failure:
        check(str(failure).startswith("the server has ended: 1: ") and
              "error: " in str(failure), "not in order", str(failure))
        tally.ends += 1
        return None
