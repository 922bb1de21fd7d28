#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Brings a server to its limits and to its end.

  check_serve_limits.py ./model --slow CLUSTER.yaml

Keys and what they may do, a full queue, aborts, time-outs, SIGTERM, TLS. --slow describes machines on
which a step takes 50 ms, for what must last (it has --emulate).
Exit status: 0 when all is as it should be, 1 when not.
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from serving import (PATIENCE, Server, check, check_error, run_cases, text_of,
                     wait_until)

COMPLETIONS = "/v1/completions"
PROMPT = "A pass is"


def slow_server(args, *options, **keywords):
    """Where 20 tokens take a second."""
    return Server([args.program], "--emulate", args.slow,
                  "--emulate-max-latency-us", 0, *options, **keywords)


def endless(server, **headers):
    """A stream of more than a minute, once it has begun."""
    stream = server.stream(COMPLETIONS, {"prompt": PROMPT, "ignore_eos": True,
                                         "max_tokens": 1500}, headers)
    check(stream.status == 200, "no stream", stream.status)
    events = iter(stream)
    next(events)
    return stream, events


def keys_and_queue(args):
    """Keys; a full queue; an abort in each phase."""
    path = pathlib.Path(args.folder, "keys")
    path.write_text("# keys\nfirst-key\n second-key \n")
    path.chmod(0o600)
    with slow_server(args, "--api-key-file", path, "--max-num-seqs", 1,
                     "--max-queue", 1) as server:
        answer = server.post(COMPLETIONS, {"prompt": PROMPT})
        check_error(answer, 401, code="invalid_api_key")
        check("Bearer" in answer.headers["WWW-Authenticate"], "no challenge")
        check_error(server.get("/v1/models", Authorization="Bearer x"), 401)
        for path in ("/health", "/version", "/metrics", "/"):
            check(server.get(path).status == 200, f"{path} wants a key")
        server.key = "second-key"
        check(server.get("/v1/models").status == 200, "the key")

        stream, events = endless(server, **{"X-Request-Id": "first"})
        check_error(server.post(COMPLETIONS, {"prompt": PROMPT},
                                {"X-Request-Id": "first"}), 400,
                    code="duplicate_request_id")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            second = pool.submit(server.post, COMPLETIONS, {"prompt": PROMPT},
                                 {"X-Request-Id": "second"})
            wait_until(lambda: server.work()[1] == 1, "the second waits")
            answer = server.post(COMPLETIONS, {"prompt": PROMPT})
            check_error(answer, 429, code="queue_full")
            check(int(answer.headers["Retry-After"]) > 0, "no Retry-After")
            # One that waits, then the one that runs.
            check(server.post("/abort_request", {"request_id": "second"})
                  .status == 200, "no abort")
            check_error(second.result(), 499, code="request_aborted")
            wait_until(lambda: server.work()[1] == 0, "none waits")
            check(server.work()[0] == 1, "the first runs")
            server.post("/abort_request", {"request_id": "first"})
            last = list(events)[-1]
            check(last.get("error", {}).get("code") == "request_aborted",
                  "the stream's end", last)
        stream.__exit__()
        server.wait_until_idle()


def entitlements(args):
    """What a key may do is in the file: how many of its requests run at once,
    and with which priorities."""
    path = pathlib.Path(args.folder, "entitled")
    path.write_text("modest max-running=1 priority=-5..0\nother weight=2\n")
    path.chmod(0o600)
    with slow_server(args, "--api-key-file", path, "--max-num-seqs", 4,
                     key="modest") as server:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            streams = [pool.submit(endless, server)]
            wait_until(lambda: server.work()[0] == 1, "the first runs")
            streams.append(pool.submit(endless, server))
            wait_until(lambda: server.work()[:2] == [1, 1], "the second waits")
            check_error(server.post(COMPLETIONS, {"prompt": PROMPT,
                                                  "priority": -6}),
                        400, param="priority")
            server.key = "other"
            check(server.complete(PROMPT, max_tokens=2), "another key's")
            check(server.work()[:2] == [1, 1], "the second runs beside it")
            streams[0].result()[0].__exit__()
            streams[1].result()[0].__exit__()
        server.wait_until_idle()


def timeouts(args):
    """504 where it runs too long, 503 where it waits too long."""
    with slow_server(args, "--max-num-seqs", 1, "--request-timeout", 2,
                     "--queue-timeout", 0.5) as server:
        fields = {"prompt": PROMPT, "max_tokens": 1500, "ignore_eos": True}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(server.post, COMPLETIONS, fields)
            wait_until(lambda: server.work()[0] == 1, "the first runs")
            second = server.post(COMPLETIONS, fields)
            check_error(second, 503, code="queue_timeout")
            check(second.headers["Retry-After"], "no Retry-After")
            check_error(first.result(), 504, code="request_timeout")
        with server.stream(COMPLETIONS, fields) as stream:
            last = list(stream)[-1]
        check(last.get("error", {}).get("code") == "request_timeout",
              "the stream's end", last)
        server.wait_until_idle()


def drain(args):
    """SIGTERM: what runs is finished, what comes is refused."""
    with slow_server(args) as server:
        whole = server.complete(PROMPT, max_tokens=30, ignore_eos=True)
        with server.stream(COMPLETIONS, {
                "prompt": PROMPT, "temperature": 0, "max_tokens": 30,
                "ignore_eos": True}) as stream:
            check(stream.status == 200, "no stream", stream.status)
            server.terminate()
            wait_until(lambda: server.get("/health").status == 503,
                       "it is not healthy any more")
            answer = server.post(COMPLETIONS, {"prompt": PROMPT})
            check_error(answer, 503)
            check(answer.headers["Retry-After"], "no Retry-After")
            check(text_of(stream) == whole["text"] and stream.isDone,
                  "the stream was cut off")
        check(server.wait() == 0, "the status after a drain")
    with slow_server(args, "--drain-seconds", 0.5) as server:
        stream, events = endless(server)
        server.terminate()
        last = list(events)[-1]
        check(last.get("error", {}).get("code") == "shutting_down",
              "the stream's end", last)
        stream.__exit__()
        check(server.wait() == 0, "the status after a short drain")


def tls(args):
    openssl = shutil.which("openssl")
    if not openssl:
        return "left out: there is no openssl"
    pem, key = (pathlib.Path(args.folder, name) for name in ("c.pem", "k.pem"))
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", pem,
         "-keyout", key], check=True, capture_output=True)
    with Server([args.program], "--tls-cert", pem, "--tls-key", key,
                authority=pem) as server:
        check(server.url.startswith("https://"), "the URL", server.url)
        whole = server.complete(PROMPT, max_tokens=12)["text"]
        with server.stream(COMPLETIONS, {"prompt": PROMPT, "max_tokens": 12,
                                         "temperature": 0}) as stream:
            check(text_of(stream) == whole, "a stream")
        with socket.create_connection((server.host, server.port),
                                      PATIENCE) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            check(not plain.recv(100).startswith(b"HTTP/1.1 200"),
                  "plain HTTP is answered")
    broken = subprocess.run([args.program, "serve", "--port", "0", "--tls-cert",
                             key, "--tls-key", key], capture_output=True,
                            timeout=PATIENCE)
    check(broken.returncode == 1 and b"k.pem" in broken.stderr,
          "a key as certificate", broken)


def closed_log(args):
    """Whoever reads the log may go."""
    process = subprocess.Popen(
        [args.program, "serve", "--port", "0", "--log-requests"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        port = re.search(r"^serving .* at http://[\d.]+:(\d+)$", line)
        check(port, "not what a server says", line)
        process.stderr.close()
        for _ in range(3):
            connection = http.client.HTTPConnection(
                "127.0.0.1", int(port[1]), timeout=PATIENCE)
            with contextlib.closing(connection):
                connection.request(
                    "POST", "/v1/completions",
                    json.dumps({"prompt": "A", "max_tokens": 4}),
                    {"Content-Type": "application/json"})
                check(connection.getresponse().status == 200, "not answered")
            time.sleep(0.3)  # it writes its log now and then
        process.terminate()
        check(process.wait(PATIENCE) == 0, "the exit status",
              process.returncode)
    finally:
        process.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--slow", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as args.folder:
        run_cases([keys_and_queue, entitlements, timeouts, drain, tls, closed_log], args)


if __name__ == "__main__":
    sys.exit(main())
