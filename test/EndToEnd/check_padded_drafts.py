#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a draft with other rows than the target changes no answer.

  check_padded_drafts.py ./alone ./pipeline --beyond ID

./pipeline is the model of ./alone with a draft, and ID a token that one of the
two models has no row for, if that is the draft. Requests of all kinds, with such
tokens in prompts, biases and answers, get of both the same text, tokens and
log-probabilities to the last digit, whether guesses are in flight all the time or
always made; and then guesses come true.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import sys

from serving import Server, check, run_cases

PATH = "/v1/completions"
TEXT = "The value of the list is the same as in the last example, so that "
SCHEMA = {"type": "object", "additionalProperties": False,
          "properties": {"is_good": {"type": "boolean"},
                         "words": {"type": "array", "maxItems": 4,
                                   "items": {"enum": ["red", "green"]}}},
          "required": ["is_good", "words"]}
PENALTIES = {"frequency_penalty": 0.4, "presence_penalty": 0.2,
             "repetition_penalty": 1.1}


def requests(beyond):
    """What is asked for, by what it is an example of."""
    prompt = [beyond, 17, 300, beyond, 5]
    sampled = {"temperature": 0.8, "seed": 11}
    bias = {str(beyond): 6, "300": 2, "40": -3}
    return {
        "greedy": {"prompt": TEXT * 2},
        "sampled": {"prompt": TEXT, **sampled},
        "prompt": {"prompt": prompt},
        "sampled prompt": {"prompt": prompt, **sampled, "top_k": 50},
        "bias": {"prompt": prompt, "logit_bias": bias},
        "penalties": {"prompt": prompt, "logit_bias": bias, **PENALTIES},
        "sampled penalties": {"prompt": TEXT, "logit_bias": bias, **PENALTIES,
                              **sampled, "top_p": 0.9},
        "answer": {"prompt": TEXT, "logit_bias": {str(beyond): 100}},
        "grammar": {"prompt": TEXT, "guided_json": SCHEMA},
        "grammar after it": {"prompt": prompt, "guided_json": SCHEMA,
                             **sampled, **PENALTIES},
    }


def answers(program, bodies, *options):
    """What each gets, and how many guesses have come true."""
    with Server([program], *options) as server:
        found = {}
        for name, body in bodies.items():
            fields = {"temperature": 0, "max_tokens": 60, "logprobs": 3,
                      "ignore_eos": "guided_json" not in body, **body}
            found[name] = server.post(PATH, fields).choice()
        server.wait_until_idle()
        return found, server.metrics()["spec_decode_num_accepted_tokens_total"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("alone")
    parser.add_argument("pipeline")
    parser.add_argument("--beyond", type=int, required=True)
    args = parser.parse_args()
    bodies = requests(args.beyond)
    expected, _ = answers(args.alone, bodies)

    def compare(mode):
        found, accepted = answers(args.pipeline, bodies, "--speculate", mode)
        for name, body in bodies.items():
            check(found[name] == expected[name], f"{name}: {body}",
                  found[name], expected[name])
        return accepted

    def all_the_time():
        return f"{compare('async'):.0f} guesses came true"

    def always():
        accepted = compare("sync")
        check(accepted > 0, "no guess has come true")
        return f"{accepted:.0f} guesses came true"

    run_cases([all_the_time, always])


if __name__ == "__main__":
    sys.exit(main())
