#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serves models whose files do not quite fit together, as many that people have
found are.

  check_odd_models.py --model FOLDER --scratch FOLDER

The model is a Hugging Face folder, of which each case changes a copy. Exit status:
0 when all is as it should be, 1 when not.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

from serving import Server, check, check_error, run_cases


class OddModels:
    def __init__(self, model, scratch):
        self.model, self.scratch = model, scratch

    def cases(self):
        return [self.token_beyond_rows, self.end_of_turn]

    def copy(self, name):
        """A copy of the folder, whose small files may be changed."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in self.model.iterdir():
            if file.suffix == ".safetensors":
                (folder / file.name).symlink_to(file.resolve())
            else:
                shutil.copy(file, folder)
        return folder

    @staticmethod
    def change(path, change):
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    def compile(self, folder):
        """The executable, and what the compiler has said."""
        program = folder.with_suffix(".exe")
        done = subprocess.run(["sluice-compile", folder, "-o", program],
                              capture_output=True, text=True)
        check(done.returncode == 0, "not compiled", done.stderr)
        return program, done.stderr

    def token_beyond_rows(self):
        """A token was added to the tokenizer and not to the model. Compiling
        names it; a prompt that has it is refused, and nobody else is harmed.
        In a chat its spelling is text."""
        folder = self.copy("beyond")
        self.change(folder / "tokenizer.json", lambda it: it[
            "added_tokens"].append({
                "id": 4096, "content": "[PAD]", "single_word": False,
                "lstrip": False, "rstrip": False, "normalized": False,
                "special": True}))
        program, said = self.compile(folder)
        check("warning: the tokenizer has 1 token that the model, which has "
              "4096, does not: 4096 ('[PAD]'); texts that need it are refused"
              in said, "the warning", said)
        with Server([program]) as server:
            fields = {"prompt": "A pass is", "max_tokens": 400, "stream": True,
                      "ignore_eos": True}
            with server.stream("/v1/completions", fields) as other:
                events = iter(other)
                next(events)
                chat = {"max_tokens": 2, "messages": [
                    {"role": "user", "content": "What is [PAD] for?"}]}
                server.post("/v1/chat/completions", chat).choice()
                check_error(
                    server.post("/v1/completions", {"prompt": "a [PAD]"}), 400,
                    param="prompt", says="has the text '[PAD]', whose token "
                    "4096 is not among the model's 4096")
                check_error(
                    server.post("/v1/completions", {"prompt": [4096]}), 400)
                check(sum(bool(event["choices"]) for event in events) > 100,
                      "the other request has not gone on")
            check(server.post("/v1/completions", {"prompt": "A"}).status == 200,
                  "the server")


    def end_of_turn(self):
        """Texts end with one token, and turns with one that the template alone
        names."""
        folder = self.copy("turns")
        program, _ = self.compile(folder)
        forced = {"logit_bias": {"2": 100}, "max_tokens": 8, "temperature": 0}
        with Server([program]) as server:
            for path, fields in (
                    ("/v1/completions", {"prompt": "A pass is"}),
                    ("/v1/chat/completions",
                     {"messages": [{"role": "user", "content": "Hi"}]})):
                choice = server.post(path, {**fields, **forced}).choice()
                check(choice["finish_reason"] == "stop",
                      "<|im_end|> does not end it", choice)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    run_cases(OddModels(args.model, args.scratch).cases())


if __name__ == "__main__":
    sys.exit(main())
