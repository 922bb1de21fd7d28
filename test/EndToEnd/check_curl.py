#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses a server with curl, as its users do on the command line.

  check_curl.py ./model

Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from serving import PATIENCE, Server, check, run_cases, wait_until

CHAT = json.dumps({"messages": [{"role": "user", "content": "hello"}],
                   "max_tokens": 12, "temperature": 0})


class Curl:
    def __init__(self, server, folder):
        self.server, self.folder = server, folder

    def cases(self):
        return [self.plain, self.stream, self.key, self.errors,
                self.large_body, self.old_http, self.interrupted]

    def start(self, path, *options, key=True):
        if key:
            options = ("-H", f"Authorization: Bearer {self.server.key}",
                       *options)
        return subprocess.Popen(
            ["curl", "-sS", "--max-time", str(PATIENCE), *options,
             self.server.url + path], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def run(self, path, *options, status=0, key=True):
        done = self.start(path, *options, key=key)
        out, err = done.communicate()
        check(done.returncode == status, "curl's status", done.returncode,
              err, out)
        return out

    def plain(self):
        """-d alone, whose type is that of a form."""
        answer = json.loads(self.run("/v1/chat/completions", "-d", CHAT))
        self.content = answer["choices"][0]["message"]["content"]
        check(self.content, "no text", answer)

    def stream(self):
        fields = json.dumps({**json.loads(CHAT), "stream": True})
        lines = self.run("/v1/chat/completions", "-N", "--json", fields)
        events = lines.decode().removesuffix("\n\n").split("\n\n")
        check(events.pop() == "data: [DONE]", "no end", lines)
        events = [json.loads(event.removeprefix("data: ")) for event in events]
        deltas = [event["choices"][0]["delta"] for event in events]
        check("".join(d.get("content") or "" for d in deltas) == self.content,
              "another text", deltas)

    def key(self):
        head = self.run("/v1/models", "-D", "-", "-o", "/dev/null", key=False)
        check(b" 401 " in head and b"www-authenticate: bearer" in head.lower(),
              "no key", head)
        self.run("/v1/models", "-f", status=22, key=False)
        check(b"200" in self.run("/health", "-I", key=False), "health")

    def errors(self):
        answer = json.loads(self.run("/v1/chat/completions", "-d", "{"))
        check(answer["error"]["type"] == "invalid_request_error", "JSON",
              answer)
        self.run("/v1/completions", "-f", "-X", "PUT", status=22)

    def large_body(self):
        """curl asks with `Expect: 100-continue` before it sends one."""
        path = pathlib.Path(self.folder, "body")
        path.write_text(json.dumps({"prompt": "a" * (2 << 20)}))
        answer = self.run("/v1/completions", "--json", f"@{path}", "-w",
                          "%{http_code}")
        check(answer.endswith(b"400") and b"context_length" in answer,
              "a long prompt", answer[-500:])

    def old_http(self):
        fields = json.dumps({"prompt": "A", "max_tokens": 4, "stream": True})
        lines = self.run("/v1/completions", "-0", "--json", fields)
        check(lines.endswith(b"data: [DONE]\n\n"), "HTTP/1.0", lines)

    def interrupted(self):
        """Ctrl-C."""
        fields = json.dumps({"prompt": "A", "max_tokens": 1900, "stream": True,
                             "ignore_eos": True, "n": 8})
        curl = self.start("/v1/completions", "-N", "--json", fields)
        try:
            curl.stdout.read(1)
            wait_until(lambda: self.server.work()[0] > 0, "it runs")
        finally:
            curl.terminate()
            curl.communicate()
        took = self.server.wait_until_idle()
        # Counted by the session, which ends behind its requests.
        wait_until(
            lambda: self.server.metrics()["client_disconnects_total"] == 1,
            "somebody has left")
        return f"gone after {1000 * took:.0f} ms"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keys = pathlib.Path(folder, "keys")
        keys.write_text("sk-curl\n")
        keys.chmod(0o600)
        with Server([args.program], "--api-key-file", keys,
                    key="sk-curl") as server:
            run_cases(Curl(server, folder).cases())


if __name__ == "__main__":
    sys.exit(main())
