# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A client that minds its own business while others attack the server.

  with Bystander(server) as bystander:
      ... attack ...
  bystander.longest_gap   # seconds between two of its tokens, or to the first
  bystander.growth        # bytes of the server's memory, at most

It streams one answer after the other in a process of its own, and each must be
the same: Failure where one is not.
"""
import json
import multiprocessing
import pathlib
import re
import time

from serving import PATIENCE, Failure, Stream, check, text_of

REQUEST = {"prompt": "A pass is", "temperature": 0, "max_tokens": 48,
           "ignore_eos": True, "stream": True}


def memory_of(pid):
    """Bytes of a process that are in memory: its own, without files."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.M)[1]) << 10


def _stream_once(server, gaps):
    last = time.monotonic()
    connection = server.connect()
    with Stream(connection, server._send(
            connection, "POST", "/v1/completions", REQUEST, None)) as stream:
        check(stream.status == 200, "the bystander is refused", stream.status)
        events = []
        for event in stream:
            now = time.monotonic()
            gaps.append(now - last)
            last = now
            events.append(event)
    return text_of(events)


def _run(server, expected, stop, results):
    gaps = []
    try:
        while True:
            text = _stream_once(server, gaps)
            check(text == expected, "the bystander's text", text, expected)
            if stop.is_set():
                break
        results.put((max(gaps), len(gaps), None))
    except (Failure, OSError, json.JSONDecodeError) as failure:
        results.put((max(gaps, default=0), len(gaps), str(failure)))


class Bystander:
    def __init__(self, server):
        self.server = server
        self.expected = _stream_once(server, [])
        self._process = None
        self.longest_gap = self.growth = self.tokens = 0

    def __enter__(self):
        self._before = memory_of(self.server.process.pid)
        self._stop = multiprocessing.Event()
        self._results = multiprocessing.Queue()
        self._process = multiprocessing.Process(
            target=_run, args=(self.server, self.expected, self._stop,
                               self._results), daemon=True)
        self._process.start()
        time.sleep(0.2)  # it has begun
        return self

    def look(self):
        """Takes a look at the server's memory."""
        self.growth = max(self.growth, memory_of(self.server.process.pid) -
                          self._before)

    def __exit__(self, kind, *_):
        self.look()
        self._stop.set()
        if kind:
            self._process.kill()
            return
        self.longest_gap, self.tokens, problem = self._results.get(timeout=PATIENCE)
        self._process.join()
        check(problem is None, "the bystander", problem)

    def __str__(self):
        return (f"{self.tokens} tokens of a bystander, at most "
                f"{1000 * self.longest_gap:.0f} ms between two; "
                f"memory grew by {self.growth >> 20} MiB")
