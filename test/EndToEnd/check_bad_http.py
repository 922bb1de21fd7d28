#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sends a server what no client should, byte by byte.

  check_bad_http.py ./model --slow CLUSTER.yaml

Each must get the right status of 4xx (or 5xx where HTTP says so) in the API's
error format, and a stream that runs beside all of it must come through as it
would alone.
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import contextlib
import email.parser
import io
import json
import socket
import subprocess
import sys
import threading
import time

from serving import Answer, Server, check, check_error, run_cases

PATH = "/v1/completions"
BODY_BYTES = 1 << 20
# How long the server waits for a request's header, and some patience.
HEADER_S, MARGIN_S = 10, 120
# 50 ms each: longer than a slow sender is waited for.
LONG_TOKENS = 240

# Bodies: what it is, the bytes, and the field that the answer must name.
BODIES = [
    ("nothing", b"", None),
    ("cut off", b'{"prompt": "a"', None),
    ("two values", b'{"prompt": "a"} {}', None),
    ("a comma at the end", b'{"prompt": "a",}', None),
    ("a comment", b'{"prompt": "a" /* b */}', None),
    ("single quotes", b"{'prompt': 'a'}", None),
    ("an array", b"[]", None),
    ("a string", b'"prompt"', None),
    ("a NUL", b'{"prompt": "a"}\0', None),
    ("NaN", b'{"prompt": "a", "temperature": NaN}', None),
    ("Infinity", b'{"prompt": "a", "temperature": Infinity}', None),
    ("-Infinity", b'{"prompt": "a", "top_p": -Infinity}', None),
    ("deep arrays", b"[" * 100_000, None),
    ("deep objects", b'{"a":' * 5000 + b"1" + b"}" * 5000, None),
    ("a deep field", b'{"prompt": "a", "x": ' + b"[" * 70 + b"]" * 70 + b"}",
     None),
    ("a deep schema", b'{"prompt": "a", "guided_json": ' +
     b'{"items":' * 40 + b"[" * 40 + b"]" * 40 + b"}" * 41, None),
    ("invalid UTF-8", b'{"prompt": "\xff\xfe"}', None),
    ("UTF-8 that is too long", b'{"prompt": "\xc0\xaf"}', None),
    ("a surrogate in UTF-8", b'{"prompt": "\xed\xa0\x80"}', None),
    ("a lone surrogate", b'{"prompt": "\\ud800"}', None),
    ("UTF-16", '{"prompt": "a"}'.encode("utf-16"), None),
    ("an overflowing double", b'{"prompt": "a", "temperature": 1e999}',
     "temperature"),
    ("a number of many digits", b'{"prompt": "a", "max_tokens": ' + b"9" * 5000
     + b"}", "max_tokens"),
    ("an integer beyond 64 bits", b'{"prompt": "a", "seed": 1' + b"0" * 30 +
     b"}", "seed"),
    ("a fraction", b'{"prompt": "a", "n": 1.5}', "n"),
    ("n of 0", b'{"prompt": "a", "n": 0}', "n"),
    ("n beyond all", b'{"prompt": "a", "n": 1000000000}', "n"),
    ("a negative length", b'{"prompt": "a", "max_tokens": -1}', "max_tokens"),
    ("a negative temperature", b'{"prompt": "a", "temperature": -1}',
     "temperature"),
    ("top_p above 1", b'{"prompt": "a", "top_p": 1.5}', "top_p"),
    ("a negative top_p", b'{"prompt": "a", "top_p": -0.1}', "top_p"),
    ("top_k below -1", b'{"prompt": "a", "top_k": -2}', "top_k"),
    ("a negative penalty", b'{"prompt": "a", "repetition_penalty": -1}',
     "repetition_penalty"),
    ("too many logprobs", b'{"prompt": "a", "logprobs": 1000}', "logprobs"),
    ("a text as number", b'{"prompt": "a", "temperature": "0"}',
     "temperature"),
    ("a number as flag", b'{"prompt": "a", "stream": 1}', "stream"),
    ("an object as stop", b'{"prompt": "a", "stop": {}}', "stop"),
    ("too many stops", json.dumps({"prompt": "a", "stop": ["x"] * 500})
     .encode(), "stop"),
    ("a bias of no token", b'{"prompt": "a", "logit_bias": {"x": 1}}',
     "logit_bias"),
    ("a bias beyond all", b'{"prompt": "a", "logit_bias": {"1": 1e99}}',
     "logit_bias"),
    ("an empty prompt", b'{"prompt": []}', "prompt"),
    ("a mixed prompt", b'{"prompt": ["a", 1]}', None),
    ("a negative token", b'{"prompt": [-1]}', None),
    ("a token beyond all", b'{"prompt": [99999999999999999999]}', None),
    ("too many prompts", json.dumps({"prompt": ["a"] * 5000}).encode(),
     "prompt"),
]


def request(body=b"{}", head=b"", method=b"POST", target=PATH.encode(),
            version=b"HTTP/1.1", length=True, kind=b"application/json"):
    lines = [method + b" " + target + b" " + version, b"Host: localhost",
             b"Content-Type: " + kind]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, *([head] if head else []), b"", body])


GOOD = request(b'{"prompt": "a", "max_tokens": 1}')

# Requests that HTTP does not allow, or that are beyond the limits.
REQUESTS = [
    ("no HTTP", b"hello\r\n\r\n", 400),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), 400),
    ("no Host", b"GET /health HTTP/1.1\r\n\r\n", 400),
    ("two Hosts", b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("HTTP/2.0", request(version=b"HTTP/2.0"), 505),
    ("a NUL in a field", request(head=b"X: a\0b"), 400),
    ("a space behind a name", request(head=b"X : a"), 400),
    ("a folded line", request(head=b"X: a\r\n b"), 400),
    ("an unknown expectation", request(head=b"Expect: tea"), 417),
    ("an unknown coding", request(head=b"Transfer-Encoding: gzip",
                                  length=False), 501),
    ("two lengths", request(head=b"Content-Length: 5"), 400),
    ("a negative length", request(head=b"Content-Length: -5", length=False),
     400),
    ("a length that is none", request(head=b"Content-Length: 0x10",
                                      length=False), 400),
    ("a length beyond 64 bits", request(
        head=b"Content-Length: 99999999999999999999999", length=False), 400),
    ("a length and chunks", request(head=b"Transfer-Encoding: chunked"), 400),
    ("a long target", request(target=b"/" + b"a" * 100_000), 431),
    ("a long field", request(head=b"X: " + b"a" * 100_000), 431),
    ("many fields", request(head=b"\r\n".join([b"X: a"] * 500)), 431),
    ("a body that is too large", request(
        head=b"Content-Length: %d" % (BODY_BYTES + 1), length=False), 413),
    ("a huge body", request(head=b"Content-Length: 9000000000000000000",
                            length=False), 413),
    ("a chunk without a size", request(
        b"x\r\na\r\n", b"Transfer-Encoding: chunked", length=False), 400),
    ("a negative chunk", request(
        b"-1\r\na\r\n", b"Transfer-Encoding: chunked", length=False), 400),
    ("a chunk beyond 64 bits", request(
        b"fffffffffffffffff\r\n", b"Transfer-Encoding: chunked",
        length=False), 400),
    ("a chunk that is too large", request(
        b"ffffffff\r\n", b"Transfer-Encoding: chunked", length=False), 413),
    ("a chunk without its end", request(
        b"1\r\naXX\r\n0\r\n\r\n", b"Transfer-Encoding: chunked",
        length=False), 400),
    ("many trailers", request(
        b"0\r\n" + b"X: a\r\n" * 500 + b"\r\n", b"Transfer-Encoding: chunked",
        length=False), 431),
    ("no JSON's type", request(kind=b"text/html"), 415),
    ("a picture", request(kind=b"image/png"), 415),
    ("an unknown path", request(target=b"/../../etc/passwd"), 404),
    ("a path with a bad escape", request(target=b"/%zz"), 400),
    ("an unknown method", request(method=b"BREW"), (405, 501)),
    ("the wrong method", request(method=b"PUT"), 405),
]


def read_answer(sock):
    """None: the connection is closed without one."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n" not in data:
            part = sock.recv(65536)
            if not part:
                break
            data += part
    if not data:
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    status, _, fields = head.partition(b"\r\n")
    headers = email.parser.Parser().parse(io.StringIO(fields.decode()))
    while len(body) < int(headers.get("Content-Length", 0)):
        part = sock.recv(65536)
        check(part, "the answer is cut off", data)
        body += part
    return Answer(int(status.split()[1]), headers, body)


class Bad:
    def __init__(self, server):
        self.server = server
        self.failure = None
        self.slow = [threading.Thread(target=self.send_slowly)]

    def open(self):
        return socket.create_connection((self.server.host, self.server.port),
                                        HEADER_S + MARGIN_S)

    def ask(self, data):
        with self.open() as sock:
            # It may be refused, and the connection closed, before its end.
            with contextlib.suppress(ConnectionError):
                sock.sendall(data)
            return read_answer(sock)

    def bodies(self):
        for what, body, param in BODIES:
            try:
                check_error(self.ask(request(body)), 400, param)
            except Exception as error:
                check(False, what, error)
        return f"{len(BODIES)} bodies"

    def chat_bodies(self):
        path = b"/v1/chat/completions"
        for body in (b'{"messages": 5}', b'{"messages": [5]}',
                     b'{"messages": [{"role": "king", "content": "a"}]}',
                     b'{"messages": [{"role": "user", "content": 5}]}',
                     b'{"messages": [{"role": "user", "content": '
                     b'[{"type": "image_url"}]}]}'):
            check_error(self.ask(request(body, target=path)), 400)
        for path in (b"/tokenize", b"/detokenize", b"/abort_request"):
            check_error(self.ask(request(b"{", target=path)), 400)

    def requests(self):
        for what, data, status in REQUESTS:
            answer = self.ask(data)
            check(answer, what, "no answer")
            try:
                statuses = status if isinstance(status, tuple) else (status,)
                check(answer.status in statuses, f"not {status}", answer)
                check_error(answer, answer.status)
            except Exception as error:
                check(False, what, error)
        return f"{len(REQUESTS)} requests"

    def oversized(self):
        """A body that is sent although it is too large, and one in chunks."""
        fat = b'{"prompt": "' + b"a" * (2 * BODY_BYTES) + b'"}'
        answer = self.ask(request(fat))
        # The connection may be reset before the answer has been read.
        check(answer is None or answer.status == 413, "a body", answer)
        chunk = b"%x\r\n" % 60_000 + b"a" * 60_000 + b"\r\n"
        answer = self.ask(request(chunk * 40, b"Transfer-Encoding: chunked",
                                  length=False))
        check(answer is None or answer.status == 413, "chunks", answer)

    def many_in_one(self):
        """Good, bad: what comes behind the bad one is not read."""
        with self.open() as sock:
            sock.sendall(GOOD + request(b"{") + GOOD + b"rubbish\r\n\r\n" +
                         GOOD)
            data = b""
            while part := sock.recv(65536):
                data += part
        check(data.count(b"HTTP/1.1 200") == 2 and
              data.count(b"HTTP/1.1 400") == 2, "answers", data)

    def bytewise(self):
        """Slow, but in time."""
        with self.open() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in GOOD:
                sock.send(bytes([byte]))
            answer = read_answer(sock)
        check(answer and answer.status == 200, "byte by byte", answer)

    def send_slowly(self):
        """A byte now and then: 408 when the header takes too long."""
        try:
            with self.open() as sock:
                begin = time.monotonic()
                for byte in GOOD[:GOOD.index(b"\r\n\r\n")]:
                    sock.send(bytes([byte]))
                    sock.settimeout(1)
                    with contextlib.suppress(TimeoutError):
                        answer = read_answer(sock)
                        break
                    check(time.monotonic() < begin + HEADER_S + MARGIN_S,
                          "it is still waited for")
            check_error(answer, 408)
        except Exception as error:
            self.failure = error

    def idlers(self):
        """Connections that say nothing keep nobody out."""
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(self.open())
            half = stack.enter_context(self.open())
            half.sendall(request(b'{"prompt": "a"', length=False,
                                 head=b"Content-Length: 1000"))
            check(self.ask(GOOD).status == 200, "it does not answer")

    def slow_senders(self):
        for thread in self.slow:
            thread.join()
        check(not self.failure, "a slow sender", self.failure)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--slow", required=True)
    args = parser.parse_args()
    with Server([args.program], "--emulate", args.slow,
                "--emulate-max-latency-us", 0, "--max-body-bytes",
                BODY_BYTES) as server:
        bad = Bad(server)
        fields = {"prompt": "It was a bright", "temperature": 0.9, "seed": 8,
                  "ignore_eos": True}
        seen = []

        def listen():
            with server.stream(PATH, {**fields,
                                      "max_tokens": LONG_TOKENS}) as stream:
                for event in stream:
                    seen.append((time.monotonic(), event["choices"][0]))

        threads = [threading.Thread(target=listen), *bad.slow]
        for thread in threads:
            thread.start()

        def undisturbed():
            threads[0].join()
            text = "".join(choice["text"] for _, choice in seen)
            check(seen and seen[-1][1]["finish_reason"] == "length",
                  "the stream's end", seen[-1:])
            done = subprocess.run(
                [args.program, "generate", "-p", fields["prompt"], "-n",
                 str(LONG_TOKENS), "--temperature", "0.9", "--seed", "8",
                 "--ignore-eos", "--json"], capture_output=True, check=True)
            alone = json.loads(done.stdout)
            check(text == alone["text"], "the stream has another text", text,
                  alone["text"])
            gaps = [b[0] - a[0] for a, b in zip(seen, seen[1:])]
            return f"longest pause {1000 * max(gaps):.0f} ms"

        run_cases([bad.bodies, bad.chat_bodies, bad.requests, bad.oversized,
                   bad.many_in_one, bad.bytewise, bad.idlers,
                   bad.slow_senders, undisturbed])
        server.wait_until_idle()


if __name__ == "__main__":
    sys.exit(main())
