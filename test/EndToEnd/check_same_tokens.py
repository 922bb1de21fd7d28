#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that batch mates change nothing of what a request gets.

  check_same_tokens.py ./alone ./pipeline [--cache-bytes N] [--requests N]
                       [--seed N] [--mpi NAME MPIRUN --ranks N]

Requests with random prompts (some of which begin alike), lengths,
temperatures, seeds, forms and priorities are asked for one after the other of a
server of ./alone, which has one stage, no draft and no shared prefixes; then all
of them, as streams, of one of ./pipeline, arriving at random, with speculation
and with so small a cache that some are preempted and resumed; some of their clients
leave. What each client has got - text, tokens, their log-probabilities to the
last digit, the reason of the end - must be the same, or the beginning of it where
the client has left.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import concurrent.futures
import random
import sys
import time

from serving import Server, check, run_cases

PATH = "/v1/completions"
VOCABULARY = range(5, 4000)
SCHEMA = {"type": "object", "additionalProperties": False,
          "properties": {"is_good": {"type": "boolean"},
                         "words": {"type": "array", "maxItems": 4,
                                   "items": {"enum": ["red", "green"]}}},
          "required": ["is_good", "words"]}
MEAN_GAP_S = 0.01


def make_requests(count, seed):
    """Each with when it arrives, in seconds, and after how many tokens its
    client leaves, or None."""
    choose = random.Random(seed)
    text = "The value of the list is the same as in the last example, so that "
    beginnings = [[], [choose.choice(VOCABULARY) for _ in range(64)],
                  [choose.choice(VOCABULARY) for _ in range(100)]]
    at = 0
    for _ in range(count):
        prompt = choose.choice(beginnings) + [
            choose.choice(VOCABULARY) for _ in range(choose.randint(1, 120))]
        body = {"prompt": prompt, "max_tokens": choose.randint(8, 160),
                "temperature": choose.choice([0, 0, 0.7, 1.1]),
                "seed": choose.randrange(1 << 40), "logprobs": 2,
                "priority": choose.randint(-1, 1)}
        form = choose.random()
        if form < 0.3:  # what a draft can guess
            body.update(prompt=text * choose.randint(1, 6), temperature=0)
        if form > 0.9:
            body["guided_json"] = SCHEMA
        elif form > 0.8:
            body.update(presence_penalty=0.5, frequency_penalty=0.2, top_k=40)
        elif form > 0.2:
            body["ignore_eos"] = True
        leaves = choose.randint(1, 40) if choose.random() < 0.2 else None
        yield at, leaves, body
        at += choose.expovariate(1 / MEAN_GAP_S)


def empty():
    return {"text": "", "finish_reason": None, "tokens": [],
            "token_logprobs": [], "top_logprobs": [], "text_offset": []}


def add(got, choice):
    got["text"] += choice["text"]
    got["finish_reason"] = choice["finish_reason"]
    for name, items in (choice["logprobs"] or {}).items():
        got[name] += items


def ask(server, body, leaves=None):
    """What a client gets that stays to the end, or leaves after some tokens."""
    got = empty()
    with server.stream(PATH, body) as stream:
        check(stream.status == 200, "not answered", stream.read()
              if stream.status != 200 else "")
        for event in stream:
            check("choices" in event, "an error", event)
            add(got, event["choices"][0])
            if leaves and len(got["tokens"]) >= leaves:
                return got
    check(stream.isDone, "no [DONE]")
    return got


def is_beginning(part, whole):
    return all(whole[name][:len(items)] == items
               for name, items in part.items() if name != "finish_reason")


def compare(number, body, leaves, got, alone):
    what = f"request {number}: {body}"
    if got["finish_reason"] is None:
        check(leaves, "no end of " + what)
        check(is_beginning(got, alone), "not the beginning for " + what, got,
              alone)
        return
    for name in alone:
        check(got[name] == alone[name], f"{name} of {what}", got[name],
              alone[name])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("alone")
    parser.add_argument("pipeline")
    parser.add_argument("--cache-bytes", default="2MiB")
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--mpi", nargs=2, default=(None, None))
    parser.add_argument("--ranks", type=int, default=1)
    args = parser.parse_args()
    requests = list(make_requests(args.requests, args.seed))
    alone = []

    def one_by_one():
        with Server([args.alone], "--no-prefix-cache") as server:
            for _, _, body in requests:
                got = empty()
                add(got, server.post(PATH, body).choice())
                alone.append(got)
        tokens = sum(len(got["tokens"]) for got in alone)
        return f"{tokens} tokens"

    def all_together():
        with Server([args.pipeline], "--cache-bytes", args.cache_bytes,
                    "--max-num-seqs", 12, mpi=args.mpi[0], mpirun=args.mpi[1],
                    ranks=args.ranks) as server:
            begin = time.monotonic()

            def client(at, leaves, body):
                time.sleep(max(0, begin + at - time.monotonic()))
                return ask(server, body, leaves)

            with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
                answers = [pool.submit(client, *request)
                           for request in requests]
            for number, (_, leaves, body) in enumerate(requests):
                compare(number, body, leaves, answers[number].result(),
                        alone[number])
            server.wait_until_idle()
            values = server.metrics()
        figures = {"pauses": "num_preemptions_total",
                   "tokens of prompts were there": "prefix_cache_hits_total",
                   "guesses came true":
                       "spec_decode_num_accepted_tokens_total"}
        for what, name in figures.items():
            check(values[name] > 0, f"none: {what}")
        left = sum(leaves is not None for _, leaves, _ in requests)
        return ", ".join([f"{len(requests)} agree", f"{left} left",
                          *(f"{values[name]:.0f} {what}"
                            for what, name in figures.items())])

    run_cases([one_by_one, all_together])


if __name__ == "__main__":
    sys.exit(main())
