#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses a server with the official Python package of OpenAI.

  check_openai.py ./model

Run by a Python that has the package `openai`.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import asyncio
import pathlib
import sys
import tempfile
from typing import Literal

import openai
import pydantic

from check_serve import HELLO, PROMPT, TOOL, TOOL_TEMPLATE
from serving import Server, check, run_cases, wait_until

KEY = "sk-test"


class Thing(pydantic.BaseModel):
    is_good: bool
    colour: Literal["red", "green"]


class Client:
    def __init__(self, server):
        self.server = server
        where = {"base_url": server.url + "/v1", "max_retries": 0}
        self.client = openai.OpenAI(api_key=KEY, **where)
        self.stranger = openai.OpenAI(api_key="sk-wrong", **where)
        self.asynchronous = openai.AsyncOpenAI(api_key=KEY, **where)

    def cases(self):
        return [self.models, self.chat, self.stream, self.completion,
                self.schema, self.tools, self.streamed_tools, self.logprobs,
                self.errors, self.closing, self.many_at_once]

    def create(self, **fields):
        return self.client.chat.completions.create(**{
            "model": "demo", "messages": HELLO, "temperature": 0,
            "max_completion_tokens": 16, **fields})

    def models(self):
        names = [model.id for model in self.client.models.list()]
        check(names == ["demo"], "models", names)
        check(self.client.models.retrieve("demo").id == "demo", "a model")

    def chat(self):
        answer = self.create(n=2)
        check(len(answer.choices) == 2 and answer.usage.completion_tokens == 32
              and answer.choices[0].message.role == "assistant" and
              answer.choices[0].finish_reason == "length", "chat", answer)

    def stream(self):
        whole = self.create()
        content, usage = "", None
        for chunk in self.create(stream=True,
                                 stream_options={"include_usage": True}):
            usage = chunk.usage
            for choice in chunk.choices:
                content += choice.delta.content or ""
        check(content == whole.choices[0].message.content, "text", content)
        check(usage == whole.usage, "usage", usage)
        stop = content[len(content) // 2:]  # the package wants such an end
        with self.client.chat.completions.stream(
                model="demo", messages=HELLO, temperature=0, max_tokens=16,
                stop=stop) as events:
            for _ in events:
                pass
            final = events.get_final_completion()
        check(final.choices[0].message.content + stop == content, "text", final)

    def completion(self):
        fields = {"model": "demo", "prompt": PROMPT, "temperature": 0,
                  "max_tokens": 12, "stop": ["\n"], "seed": 3}
        answer = self.client.completions.create(**fields)
        parts = self.client.completions.create(**fields, stream=True)
        check("".join(p.choices[0].text for p in parts) ==
              answer.choices[0].text, "text", answer)
        check(answer.choices[0].finish_reason == "stop" and
              "\n" not in answer.choices[0].text, "stop", answer)

    def schema(self):
        for seed in range(3):
            answer = self.client.chat.completions.parse(
                model="demo", messages=HELLO, response_format=Thing, seed=seed,
                max_tokens=1000)
            check(isinstance(answer.choices[0].message.parsed, Thing), "schema",
                  answer)

    def tools(self):
        answer = self.create(tools=[TOOL], tool_choice="required", seed=2,
                             max_completion_tokens=1000)
        choice = answer.choices[0]
        check(choice.finish_reason == "tool_calls", "the reason", answer)
        call = choice.message.tool_calls[0]
        check(call.function.name == "paint", "the function", answer)
        Thing.model_validate_json(call.function.arguments)
        again = self.create(tools=[TOOL], messages=[
            *HELLO, choice.message,
            {"role": "tool", "tool_call_id": call.id, "content": "done"}])
        check(again.choices[0].message is not None, "the tool's answer", again)

    def streamed_tools(self):
        named = {"type": "function", "function": {"name": "paint"}}
        calls = {}
        for chunk in self.create(tools=[TOOL], tool_choice=named, stream=True,
                                 max_completion_tokens=1000):
            for call in chunk.choices[0].delta.tool_calls or []:
                known = calls.setdefault(call.index, {"name": "", "text": ""})
                known["name"] += call.function.name or ""
                known["text"] += call.function.arguments or ""
        check(len(calls) == 1 and calls[0]["name"] == "paint", "calls", calls)
        Thing.model_validate_json(calls[0]["text"])

    def logprobs(self):
        answer = self.create(logprobs=True, top_logprobs=4)
        content = answer.choices[0].logprobs.content
        check("".join(entry.token for entry in content) ==
              answer.choices[0].message.content, "tokens", answer)
        check(all(len(entry.top_logprobs) == 4 and
                  entry.logprob == entry.top_logprobs[0].logprob
                  for entry in content), "log-probabilities", content)

    def errors(self):
        for kind, status, param, call in (
                (openai.BadRequestError, 400, "temperature",
                 lambda: self.create(temperature=-1)),
                (openai.BadRequestError, 400, "top_logprobs",
                 lambda: self.create(logprobs=True, top_logprobs=1000)),
                (openai.NotFoundError, 404, "model",
                 lambda: self.create(model="gpt-5")),
                (openai.AuthenticationError, 401, None,
                 self.stranger.models.list),
                (openai.BadRequestError, 400, None,
                 lambda: self.client.embeddings.create(model="demo",
                                                       input="a"))):
            try:
                answer = call()
            except kind as error:
                check(error.status_code == status and error.message and
                      (not param or error.param == param), "the error",
                      error.body)
            else:
                check(False, f"no {kind.__name__}", answer)

    def closing(self):
        """Leaving a stream ends its request."""
        stream = self.client.completions.create(
            model="demo", prompt=PROMPT, max_tokens=1900, stream=True, n=8,
            temperature=1, extra_body={"ignore_eos": True})
        next(iter(stream))
        wait_until(lambda: self.server.work()[0] > 0, "it runs")
        before = self.server.metrics()["client_disconnects_total"]
        stream.close()
        took = self.server.wait_until_idle()
        # Counted by the session, which ends behind its requests.
        wait_until(lambda: self.server.metrics()["client_disconnects_total"] ==
                   before + 1, "somebody has left")
        return f"gone after {1000 * took:.0f} ms"

    def many_at_once(self):
        async def one(seed):
            answer = await self.asynchronous.chat.completions.create(
                model="demo", messages=HELLO, seed=seed, max_tokens=8)
            return answer.choices[0].message.content

        async def everyone():
            return await asyncio.gather(*(one(seed % 10) for seed in range(40)))

        texts = asyncio.run(everyone())
        check(texts[:10] * 4 == texts, "a seed has two texts", texts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        template = pathlib.Path(folder, "tools.jinja")
        template.write_text(TOOL_TEMPLATE)
        with Server([args.program], "--api-key", KEY, "--served-model-name",
                    "demo", "--chat-template", template, key=KEY) as server:
            run_cases(Client(server).cases())
            server.wait_until_idle()
    print(f"openai {openai.__version__}")


if __name__ == "__main__":
    sys.exit(main())
