#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serves models whose files do not quite fit together, as many that people have
found are.

  check_odd_models.py --model FOLDER --gguf FILE --scratch FOLDER

The model is a Hugging Face folder, and a GGUF file, of which each case changes a
copy. Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

from serving import Server, check, check_error, run_cases


CHAT = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
HI = [{"role": "user", "content": "Hi"}]
CALL = {"role": "assistant", "tool_calls": [
    {"id": "call_1", "type": "function",
     "function": {"name": "f", "arguments": "{}"}}]}
TOOLS = [{"type": "function", "function": {
    "name": "f", "parameters": {"type": "object", "properties": {}}}}]


class OddModels:
    def __init__(self, model, gguf, scratch):
        self.model, self.gguf, self.scratch = model, gguf, scratch

    def cases(self):
        return [self.token_beyond_rows, self.end_of_turn,
                self.template_that_is_not_all_supported,
                self.template_that_cannot_be_used, self.template_for_tools,
                self.tokenizer_of_another_form, self.unknown_pre_tokenizer,
                self.added_tokens, self.end_outside_the_vocabulary]

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

    def with_template(self, name, template):
        folder = self.copy(name)
        self.change(folder / "tokenizer_config.json",
                    lambda it: it.update(chat_template=template))
        return folder

    def compile(self, model):
        """The executable, and what the compiler has said."""
        program = model.with_suffix(".exe")
        done = subprocess.run(["sluice-compile", model, "-o", program],
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

    def template_that_is_not_all_supported(self):
        """A filter that nobody knows is an error where a chat reaches it."""
        folder = self.with_template("branches", CHAT.replace(
            "{{ m.content }}", "{% if m.tool_calls %}"
            "{{ m.tool_calls[0].function.arguments | from_json }}{% endif %}"
            "{{ m.content }}"))
        place = "line 1, column 99: filter 'from_json' is not supported"
        program, said = self.compile(folder)
        check(f"warning: chat template: {place}; chats that reach it will be "
              "refused" in said, "the warning", said)
        with Server([program]) as server:
            chat = {"messages": HI, "max_tokens": 2}
            server.post("/v1/chat/completions", chat).choice()
            check_error(server.post("/v1/chat/completions",
                                    {**chat, "messages": HI + [CALL]}),
                        400, param="messages", says=place)

    def template_that_cannot_be_used(self):
        """Texts are completed all the same, and chats say why they are not."""
        place = "line 1, column 4: statement 'do' is not supported"
        program, said = self.compile(
            self.with_template("unusable", "{% do x %}"))
        check(f"warning: chat template: {place}; chats will be refused, unless "
              "the server is given another --chat-template" in said,
              "the warning", said)
        with Server([program]) as server:
            check(f"warning: chats are refused: chat template: {place}"
                  in server.said(), "the server's warning", server.said())
            server.complete("A pass is", max_tokens=2)
            check_error(server.post("/v1/chat/completions", {"messages": HI}),
                        400, param="messages", says=place)

    def template_for_tools(self):
        """Of several templates, tool_use is for requests that give tools."""
        folder = self.with_template("named", [
            {"name": "default", "template": CHAT},
            {"name": "tool_use",
             "template": "{{ tools[0].function.name }}<tool_call>" + CHAT}])
        program, _ = self.compile(folder)
        with Server([program]) as server:
            for fields, prompt in (({}, "[user]Hi"),
                                   ({"tools": TOOLS}, "f<tool_call>[user]Hi")):
                tokens = server.post("/tokenize",
                                     {"messages": HI, **fields}).json()
                text = server.post("/detokenize",
                                   {"tokens": tokens["tokens"]}).json()
                check(text["prompt"] == prompt, "the prompt", text)

    def takes_ids_alone(self, program):
        with Server([program]) as server:
            choice = server.complete([67, 288], max_tokens=2, temperature=0)
            check(len(choice["token_ids"]) == 2 and choice["text"] == "" and
                  choice["prompt_token_ids"] == [67, 288], "the ids", choice)
            check_error(server.post("/v1/completions", {"prompt": "a"}), 400,
                        param="prompt", says="has no tokenizer")
            check_error(server.post("/v1/chat/completions", {"messages": HI}),
                        400, param="messages", says="has no tokenizer")

    def tokenizer_of_another_form(self):
        """A file that is not read is named when the model is compiled."""
        for name in "tokenizer.model", "tekken.json", "vocab.json":
            folder = self.copy("other")
            (folder / "tokenizer.json").rename(folder / name)
            program, said = self.compile(folder)
            check(f"warning: {folder / name}: this form of a tokenizer is not "
                  "read, only tokenizer.json is; the model takes and gives "
                  "token ids" in said, "the warning", said)
        self.takes_ids_alone(program)

    def unknown_pre_tokenizer(self):
        """A GGUF file whose pre-tokenizer has a name that nobody knows."""
        key = b"tokenizer.ggml.pre"
        content = bytearray(self.gguf.read_bytes())
        # Behind the key: its type, the text's length and the text.
        at = content.index(key) + len(key) + 4
        size = int.from_bytes(content[at:at + 8], "little")
        content[at + 8:at + 8 + size] = b"x" * size
        model = self.scratch / "pre.gguf"
        model.write_bytes(content)
        program, said = self.compile(model)
        check("tokenizer.ggml.pre: the pre-tokenizer '" + "x" * size + "' is not "
              "supported; without its tokenizer, the model takes and gives "
              "token ids" in said, "the warning", said)
        self.takes_ids_alone(program)

    def added_tokens(self):
        """Those of added_tokens.json are tokens, as to transformers 5.24."""
        folder = self.copy("added")
        (folder / "added_tokens.json").write_text('{"<extra>": 4096}')
        program, said = self.compile(folder)
        check("4096 ('<extra>')" in said, "the warning", said)
        with Server([program]) as server:
            tokens = server.post("/tokenize", {"prompt": "a <extra> b"}).json()
            check(tokens["tokens"] == [67, 223, 4096, 288], "tokens", tokens)

    def end_outside_the_vocabulary(self):
        """An end-of-text token that there is not ends no text."""
        folder = self.copy("end")
        self.change(folder / "config.json",
                    lambda it: it.update(eos_token_id=50256))
        (folder / "generation_config.json").unlink(missing_ok=True)
        program, said = self.compile(folder)
        check("the end-of-text token 50256 is outside the vocabulary of 4096 "
              "and is left out" in said, "the warning", said)
        with Server([program]) as server:
            server.complete("A pass is", max_tokens=2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--gguf", required=True, type=pathlib.Path)
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    run_cases(OddModels(args.model, args.gguf, args.scratch).cases())


if __name__ == "__main__":
    sys.exit(main())
