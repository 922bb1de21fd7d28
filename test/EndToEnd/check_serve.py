#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses a server of a demo model as clients do, part by part.

  check_serve.py ./model

check_serve_limits.py has what takes longer, and the ends of servers.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from serving import Server, check, check_error, run_cases, text_of

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
PROMPT = "A pass is"
HELLO = [{"role": "user", "content": "hello"}]
SCHEMA = {"type": "object", "additionalProperties": False,
          "properties": {"is_good": {"type": "boolean"},
                         "colour": {"enum": ["red", "green"]}},
          "required": ["is_good", "colour"]}
# Teaches the form of Hermes 2 Pro.
TOOL_TEMPLATE = """\
{%- if tools %}<|im_start|>system
Tools: {% for tool in tools %}{{ tool | tojson }}{% endfor %}
Answer with <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TOOL = {"type": "function", "function": {
    "name": "paint", "description": "Paints it.", "parameters": SCHEMA}}


class Plain:
    """What does not take long, of one server with all defaults."""

    def __init__(self, server):
        self.server = server

    def cases(self):
        return [self.completions, self.as_generate, self.choices, self.streams,
                self.sampling, self.logprobs, self.stops, self.grammars,
                self.chat, self.tools, self.prompts, self.token_lists,
                self.models, self.methods, self.types, self.fields,
                self.request_ids, self.idle]

    def post(self, **fields):
        return self.server.post(COMPLETIONS, {"prompt": PROMPT,
                                              "temperature": 0, **fields})

    def completions(self):
        answer = self.post(max_tokens=8).json()
        check(answer["object"] == "text_completion" and
              answer["id"].startswith("cmpl-"), "the object", answer)
        check(answer["choices"][0]["finish_reason"] == "length", "the reason",
              answer)
        usage = answer["usage"]
        check([usage[k] for k in ("prompt_tokens", "completion_tokens",
                                  "total_tokens")] == [3, 8, 11], "usage",
              usage)

    def as_generate(self):
        """The command line's tokens, greedy and sampled."""
        for options, fields in (
                ([], {}),
                (["--temperature", "0.8", "--seed", "7", "--top-p", "0.9"],
                 {"temperature": 0.8, "seed": 7, "top_p": 0.9}),
                (["--repeat-penalty", "1.3", "--presence-penalty", "0.5",
                  "--frequency-penalty", "0.3"],
                 {"repetition_penalty": 1.3, "presence_penalty": 0.5,
                  "frequency_penalty": 0.3}),
                (["--logit-bias", "271-100", "--temperature", "1",
                  "--top-k", "40", "--min-p", "0.05", "--seed", "3"],
                 {"logit_bias": {"271": -100}, "temperature": 1, "top_k": 40,
                  "min_p": 0.05, "seed": 3})):
            done = subprocess.run(
                [self.server.program, "generate", "-p", PROMPT, "-n", "40",
                 "--json", "--logprobs", "2", *options], capture_output=True,
                check=True)
            alone = json.loads(done.stdout)
            there = self.post(max_tokens=40, logprobs=2, **fields).choice()
            check((there["text"], there["finish_reason"]) ==
                  (alone["text"], alone["finish_reason"]),
                  f"generate says otherwise with {options}", there, alone)
            for ours, theirs in zip(there["logprobs"]["token_logprobs"],
                                    alone["logprobs"], strict=True):
                check(abs(ours - theirs["logprob"]) < 1e-9, "log-probability",
                      ours, theirs)

    def choices(self):
        """Those of n have the seeds that follow each other."""
        fields = {"max_tokens": 12, "temperature": 1}
        answer = self.post(n=3, seed=5, **fields).json()
        texts = [c["text"] for c in answer["choices"]]
        check([c["index"] for c in answer["choices"]] == [0, 1, 2], "indices",
              answer)
        check(answer["usage"]["completion_tokens"] == 36 and
              answer["usage"]["prompt_tokens"] == 3, "usage", answer)
        for seed, text in zip((5, 6, 7), texts):
            alone = self.post(seed=seed, **fields).choice()["text"]
            check(alone == text, f"seed {seed}", alone, text)
        check(len(set(texts)) > 1, "choices are the same", texts)
        answer = self.server.post(COMPLETIONS, {
            "prompt": ["A pass is", [35, 835, 310]], "n": 2, "max_tokens": 6,
            "temperature": 0}).json()
        check(len({c["text"] for c in answer["choices"]}) == 1 and
              len(answer["choices"]) == 4, "prompts times choices", answer)

    def streams(self):
        fields = {"prompt": PROMPT, "temperature": 0.7, "seed": 1, "n": 2,
                  "max_tokens": 24}
        whole = self.server.post(COMPLETIONS, fields).json()
        with self.server.stream(COMPLETIONS, {
                **fields, "stream_options": {"include_usage": True}}) as stream:
            check(stream.status == 200 and stream.headers["Content-Type"]
                  .startswith("text/event-stream"), "the type", stream.headers)
            events = list(stream)
        check(stream.isDone, "no [DONE]")
        check(len({e["id"] for e in events}) == 1, "ids differ", events[:2])
        for index, choice in enumerate(whole["choices"]):
            parts = [e["choices"][0] for e in events
                     if e["choices"] and e["choices"][0]["index"] == index]
            check("".join(p["text"] for p in parts) == choice["text"],
                  "the stream has another text", parts, choice)
            check([p["finish_reason"] for p in parts if p["finish_reason"]] ==
                  [choice["finish_reason"]], "reasons", parts)
        check(events[-1]["choices"] == [] and
              events[-1]["usage"] == whole["usage"], "usage", events[-1])
        check(all(e["usage"] is None for e in events[:-1]), "usage before it")

    def sampling(self):
        first, second, third = (
            self.post(max_tokens=24, temperature=1.2, seed=seed).choice()
            for seed in (9, 9, 10))
        check(first == second, "a seed has two texts", first, second)
        check(first != third, "two seeds have one text", first)
        forced = self.post(max_tokens=4, logit_bias={"271": 100}).choice()
        check(forced["text"] == " the" * 4, "logit_bias", forced)
        # Wherever the text repeats itself, the penalty is felt.
        plain, penal = (self.post(max_tokens=60, presence_penalty=p,
                                  frequency_penalty=p).choice()["text"]
                        for p in (0, 2))
        check(plain != penal, "penalties do nothing", plain)

    def logprobs(self):
        choice = self.post(max_tokens=6, logprobs=3).choice()
        logprobs = choice["logprobs"]
        check("".join(logprobs["tokens"]) == choice["text"], "tokens", choice)
        for token, value, top, at in zip(
                logprobs["tokens"], logprobs["token_logprobs"],
                logprobs["top_logprobs"], logprobs["text_offset"],
                strict=True):
            check(len(top) == 3 and top[token] == value == max(top.values()),
                  "the greedy token is not the most probable", token, top)
            check(choice["text"][at:].startswith(token), "the offset", at)
        answer = self.server.post(CHAT, {
            "messages": HELLO, "max_tokens": 4, "temperature": 0,
            "logprobs": True, "top_logprobs": 2}).choice()
        content = answer["logprobs"]["content"]
        check(b"".join(bytes(e["bytes"]) for e in content).decode() ==
              answer["message"]["content"], "bytes", answer)
        check(all(len(e["top_logprobs"]) == 2 and
                  e["top_logprobs"][0]["logprob"] == e["logprob"]
                  for e in content), "top_logprobs", content)

    def stops(self):
        whole = self.post(max_tokens=32).choice()["text"]
        stop = whole[len(whole) // 2:][:3]
        for fields in ({"stop": stop}, {"stop": ["\u2603", stop]}):
            cut = self.post(max_tokens=32, **fields).choice()
            check(cut["text"] == whole[:whole.index(stop)] and
                  cut["finish_reason"] == "stop", "stop", cut, whole)
            with self.server.stream(COMPLETIONS, {
                    "prompt": PROMPT, "temperature": 0, "max_tokens": 32,
                    **fields}) as stream:
                check(text_of(stream) == cut["text"], "stop in a stream", cut)
        ended = self.post(max_tokens=32, stop_token_ids=[835]).choice()
        check(ended["finish_reason"] in ("stop", "length"), "token", ended)

    def grammars(self):
        for form in (
                {"response_format": {"type": "json_schema", "json_schema": {
                    "name": "thing", "strict": True, "schema": SCHEMA}}},
                {"guided_json": SCHEMA}):
            for seed in range(3):
                choice = self.post(max_tokens=1000, temperature=1, seed=seed,
                                   **form).choice()
                check(choice["finish_reason"] == "stop", "no end", choice)
                thing = json.loads(choice["text"])
                check(set(thing) == {"is_good", "colour"} and
                      thing["is_good"] in (True, False) and
                      thing["colour"] in ("red", "green"), "schema", choice)
        answer = self.post(max_tokens=64, temperature=1, n=6, seed=1,
                           response_format={"type": "json_object"}).json()
        for choice in answer["choices"]:
            text = choice["text"].lstrip()
            check(not text or text[0] == "{", "json_object", choice)
            if choice["finish_reason"] == "stop":
                check(isinstance(json.loads(text), dict), "JSON", choice)
        choice = self.post(max_tokens=20, temperature=1, seed=2,
                           grammar='root ::= ("ab" | "c"){3} "!"').choice()
        rest = choice["text"].replace("ab", "c")
        check(rest == "ccc!" and choice["finish_reason"] == "stop", "GBNF",
              choice)
        check_error(self.post(grammar="root ::= ("), 400, "grammar")
        check_error(self.post(response_format={
            "type": "json_schema", "json_schema": {
                "name": "x", "schema": {"type": "colour"}}}), 400)

    def chat(self):
        fields = {"messages": [{"role": "system", "content": "Be short."},
                               *HELLO], "temperature": 0}
        answer = self.server.post(CHAT, {**fields,
                                         "max_completion_tokens": 12}).json()
        check(answer["object"] == "chat.completion", "the object", answer)
        message = answer["choices"][0]["message"]
        check(message["role"] == "assistant" and
              answer["usage"]["completion_tokens"] <= 12, "message", answer)
        with self.server.stream(CHAT, {**fields, "max_tokens": 12}) as stream:
            deltas = [e["choices"][0]["delta"] for e in stream]
        check(deltas[0].get("role") == "assistant", "no role", deltas)
        check("".join(d.get("content") or "" for d in deltas) ==
              message["content"], "the stream has another text", deltas)
        # The template's own form, as a plain prompt.
        alone = self.server.post(COMPLETIONS, {
            "prompt": "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>"
                      "user\nhello<|im_end|>\n<|im_start|>assistant\n",
            "temperature": 0, "max_tokens": 12}).choice()
        check(alone["text"] == message["content"], "the template", alone)

    def tools(self):
        """The demo's template knows none."""
        check_error(self.server.post(CHAT, {"messages": HELLO,
                                            "tools": [TOOL]}), 400, "tools")
        answer = self.server.post(CHAT, {
            "messages": HELLO, "max_tokens": 2, "tools": [TOOL],
            "tool_choice": "none"})
        check(answer.status == 200, "tool_choice none", answer)

    def prompts(self):
        echoed = self.post(max_tokens=4, echo=True).choice()["text"]
        check(echoed == PROMPT + self.post(max_tokens=4).choice()["text"],
              "echo", echoed)
        none = self.post(max_tokens=0, echo=True).choice()
        check(none["text"] == PROMPT, "no tokens", none)
        check_error(self.server.post(COMPLETIONS, {"prompt": [5] * 3000}), 400,
                    code="context_length_exceeded", says="3000")
        check_error(self.server.post(COMPLETIONS, {"prompt": [4096]}), 400,
                    "prompt[0]")
        check_error(self.server.post(COMPLETIONS, {}), 400, "prompt")
        check_error(self.server.post(CHAT, {"messages": []}), 400, "messages")
        check_error(self.server.post("/v1/embeddings", {"input": "a"}), 400)

    def token_lists(self):
        answer = self.server.post("/tokenize", {"prompt": PROMPT}).json()
        check(answer["tokens"] == [35, 835, 310] and answer["count"] == 3 and
              answer["max_model_len"] == 2048, "tokens", answer)
        back = self.server.post("/detokenize", {"tokens": answer["tokens"]})
        check(back.json() == {"prompt": PROMPT}, "text", back)
        chat = self.server.post("/tokenize", {"messages": HELLO}).json()
        check(chat["count"] > 5, "messages", chat)

    def models(self):
        listed = self.server.get("/v1/models").json()
        names = [m["id"] for m in listed["data"]]
        check(names == ["demo", "alias"], "names", names)
        check(self.server.get("/v1/models/alias").json()["id"] == "alias",
              "a model")
        check(self.post(model="alias", max_tokens=1).status == 200, "alias")
        check_error(self.post(model="gpt-5"), 404, "model", "model_not_found")
        check_error(self.server.get("/v1/models/gpt-5"), 404, "model",
                    "model_not_found")
        check("sluice" in self.server.get("/version").json()["version"],
              "version")
        page = self.server.get("/")
        check(page.status == 200 and b"<html" in page.body, "the page", page)

    def methods(self):
        check_error(self.server.get("/v1/nothing"), 404)
        for path, method, allowed in ((COMPLETIONS, "GET", "POST"),
                                      ("/metrics", "POST", "GET, HEAD"),
                                      (CHAT, "DELETE", "POST")):
            answer = self.server.ask(method, path)
            check_error(answer, 405)
            check(answer.headers["Allow"] == allowed, "Allow",
                  answer.headers["Allow"])

    def types(self):
        body = json.dumps({"prompt": PROMPT, "max_tokens": 1})
        for kind, status in (("application/json; charset=utf-8", 200),
                             ("application/x-www-form-urlencoded", 200),
                             ("text/plain", 415), ("multipart/form-data", 415)):
            answer = self.server.ask("POST", COMPLETIONS, body,
                                     {"Content-Type": kind})
            check(answer.status == status, kind, answer)
            if status != 200:
                check_error(answer, status)
        check_error(self.server.ask("POST", COMPLETIONS, b" " * 70_000), 413)

    def fields(self):
        """What is not supported is refused by name, what does no harm is not,
        and neither is what nobody knows."""
        for name, value in (("suffix", "x"), ("best_of", 3), ("min_tokens", 2),
                            ("use_beam_search", True), ("mirostat", 2)):
            check_error(self.post(**{name: value}), 400, name, says=name)
        for name, value in (("user", "me"), ("no_such_field", {"a": 1}),
                            ("best_of", 1), ("suffix", None)):
            answer = self.post(max_tokens=1, **{name: value})
            check(answer.status == 200, name, answer)

    def request_ids(self):
        answer = self.server.post(COMPLETIONS, {"prompt": PROMPT},
                                  {"X-Request-Id": "mine"})
        check(answer.headers["X-Request-Id"] == "mine", "the id", answer)
        check_error(self.server.post("/abort_request", {"request_id": "mine"}),
                    404, "request_id")
        check_error(self.server.post("/abort_request", {}), 400, "request_id")

    def idle(self):
        self.server.wait_until_idle()
        values = self.server.metrics()
        check(values["generation_tokens_total"] > 500 and
              values["time_to_first_token_seconds_count"] > 20 and
              values["e2e_request_latency_seconds_count"] > 20 and
              values["http_requests_total"] > 40, "metrics", values)


def tool_calls(args):
    """A template that knows tools; forced calls keep to their schema."""
    path = pathlib.Path(args.folder, "tools.jinja")
    path.write_text(TOOL_TEMPLATE)
    with Server([args.program], "--chat-template", path) as server:
        named = {"type": "function", "function": {"name": "paint"}}
        for choice in ("required", named):
            fields = {"messages": HELLO, "tools": [TOOL], "seed": 4,
                      "tool_choice": choice, "max_tokens": 1000}
            answer = server.post(CHAT, fields).choice()
            calls = answer["message"]["tool_calls"]
            check(calls[0]["type"] == "function" and
                  calls[0]["function"]["name"] == "paint" and calls[0]["id"],
                  "the call", answer)
            given = json.loads(calls[0]["function"]["arguments"])
            check(given["colour"] in ("red", "green"), "arguments", given)
            with server.stream(CHAT, fields) as stream:
                deltas = [e["choices"][0]["delta"] for e in stream]
            pieces = [c["function"].get("arguments", "") for d in deltas
                      for c in d.get("tool_calls", []) if c["index"] == 0]
            check(json.loads("".join(pieces)) == given, "streamed", pieces)
        messages = [*HELLO, answer["message"],
                    {"role": "tool", "tool_call_id": calls[0]["id"],
                     "content": "done"}]
        again = server.post(CHAT, {"messages": messages, "tools": [TOOL],
                                   "max_tokens": 4})
        check(again.status == 200, "the tool's answer", again)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as args.folder:
        with Server([args.program], "--served-model-name", "demo",
                    "--served-model-name", "alias", "--max-body-bytes",
                    65536) as server:
            run_cases(Plain(server).cases())
        run_cases([tool_calls], args)


if __name__ == "__main__":
    sys.exit(main())
