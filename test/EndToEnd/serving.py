# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that serves, and its clients, for tests of what goes over HTTP.

  with Server([program], "--max-num-seqs", 4) as server:
      answer = server.post("/v1/completions", {"prompt": "A pass is"})
      with server.stream("/v1/completions", {...}) as stream:
          for event in stream: ...
      server.wait_until_idle()

The standard library alone. A check that fails raises Failure, with what the
server has written; whatever happens, no process is left.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time

from check_mpi import OPTIONS, ranks_of

PATIENCE = 240.0  # seconds that anything may take on a loaded machine
TYPES = {401: "authentication_error", 404: "not_found_error",
         429: "rate_limit_error"}
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)'
                    r'(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (\S+)$')


class Failure(Exception):
    pass


def check(truth, what, *shown):
    if not truth:
        raise Failure(": ".join([what, *(repr(s)[:2000] for s in shown)]))


def wait_until(holds, what, seconds=PATIENCE):
    """Returns how long it took, in seconds."""
    begin = time.monotonic()
    while not holds():
        check(time.monotonic() < begin + seconds,
              f"after {seconds:.0f} s: not yet", what)
        time.sleep(0.005)
    return time.monotonic() - begin


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"

    def json(self):
        return json.loads(self.body)

    def choice(self):
        """The first one, of an answer that is no error."""
        check(self.status == 200, "not answered", self)
        return self.json()["choices"][0]


def check_error(answer, status, param=None, code=None, says=""):
    """That it is an error in the API's format, and this one."""
    check(answer.status == status, f"the status is not {status}", answer)
    check(answer.headers.get("Content-Type") == "application/json",
          "the error's type", dict(answer.headers))
    error = answer.json()
    check(set(error) == {"error"} and set(error["error"]) ==
          {"message", "type", "param", "code"}, "the error's form", error)
    error = error["error"]
    check(error["message"] and "\n" not in error["message"] and
          says in error["message"], f"the message, with {says!r}", error)
    kind = "server_error" if status >= 500 else "invalid_request_error"
    check(error["type"] == TYPES.get(status, kind), "the type", error)
    check(param is None or error["param"] == param, f"not {param!r}", error)
    check(code is None or error["code"] == code, f"not {code!r}", error)


class Stream:
    """Events of an answer as they come. Closing it early is leaving."""

    def __init__(self, connection, response):
        self._connection, self._response = connection, response
        self.status, self.headers = response.status, response.headers
        self.isDone = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()
        self._response.close()

    def __iter__(self):
        """The JSON of each, without the [DONE] that must be behind them."""
        while line := self._response.readline():
            if line == b"\n":
                continue
            check(line.startswith(b"data: "), "not an event", line)
            if line == b"data: [DONE]\n":
                self.isDone = True
                check(not self._response.read().strip(), "more than [DONE]")
                return
            yield json.loads(line[6:])

    def read(self):
        """An answer that is not a stream."""
        return Answer(self.status, self.headers, self._response.read())


def text_of(events):
    return "".join(e["choices"][0]["text"] for e in events if e["choices"])


class Server:
    """`command serve`, on a free port of this machine. Under an MPI: `mpi` is
    its name, `mpirun` its launcher, and the command is of `ranks` processes.
    What it says goes to the file `log`, or to one of its own.
    It has said that it serves and, with `asks_health`, answered once."""

    def __init__(self, command, *options, mpi=None, mpirun=None, ranks=1,
                 key=None, authority=None, environment=None, log=None,
                 asks_health=True):
        self.program = command[0]
        self.key, self.mpi = key, mpi
        self.tls = authority and ssl.create_default_context(cafile=authority)
        words = [*command, "serve", "--port", 0, *options]
        if mpi:
            words = [mpirun, *OPTIONS[mpi], "-n", ranks, *words]
        self.log = log or tempfile.NamedTemporaryFile(suffix=".log")
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log,
            env={"HOME": "/tmp", **os.environ, **(environment or {})})
        try:
            self._find()
            if asks_health:
                check(self.get("/health").status == 200, "no health")
        except BaseException:
            self.kill()
            raise

    def _find(self):
        def said():
            check(self.process.poll() is None, "the server has ended",
                  self.process.returncode, self.said())
            return re.search(r"^serving .* at (https?)://([\d.]+):(\d+)$",
                             self.said(), re.M)

        wait_until(said, "the server is ready")
        _, self.host, port = said().groups()
        self.port = int(port)
        self.url = said().group().split(" at ")[1]

    def said(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, _):
        if kind is None:
            self.end()
        else:
            self.kill()
            print(f"the server said:\n{self.said()}", file=sys.stderr)

    def pids(self):
        """Of all ranks, living ones."""
        if self.mpi:
            return list(ranks_of(self.program))
        return [self.process.pid] if self.process.poll() is None else []

    def terminate(self):
        """SIGTERM for all ranks."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def wait(self, seconds=PATIENCE):
        """The exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"it still runs after {seconds} s") from None

    def end(self):
        """In order."""
        try:
            if self.process.poll() is None:
                self.terminate()
                status = self.wait()
                check(status == 0, "the server's exit status", status,
                      self.said())
        finally:
            self.kill()

    def kill(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    # ------------------------------------------------------------------------

    def connect(self, timeout=PATIENCE):
        if self.tls:
            return http.client.HTTPSConnection(
                self.host, self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def _send(self, connection, method, path, body, headers):
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if self.key:
            headers.setdefault("Authorization", f"Bearer {self.key}")
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def ask(self, method, path, body=None, headers=None):
        with contextlib.closing(self.connect()) as connection:
            response = self._send(connection, method, path, body, headers)
            return Answer(response.status, response.headers, response.read())

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body, headers=None):
        return self.ask("POST", path, body, headers)

    def complete(self, prompt, **parameters):
        """The first choice of a greedy completion."""
        return self.post("/v1/completions", {
            "prompt": prompt, "temperature": 0, **parameters}).choice()

    def stream(self, path, body, headers=None):
        connection = self.connect()
        try:
            return Stream(connection, self._send(
                connection, "POST", path, {**body, "stream": True}, headers))
        except BaseException:
            connection.close()
            raise

    # ------------------------------------------------------------------------

    def metrics(self):
        """Values by name, summed up over labels."""
        answer = self.ask("GET", "/metrics")
        check(answer.status == 200, "no metrics", answer)
        values = {}
        for line in answer.body.decode().splitlines():
            if line.startswith(("# HELP ", "# TYPE ")):
                continue
            sample = SAMPLE.match(line)
            check(sample, "not in Prometheus' format", line)
            name = sample[1].removeprefix("sluice:")
            if not name.endswith("_bucket"):
                values[name] = values.get(name, 0) + float(sample[3])
        return values

    def work(self):
        """What of requests there is: running, waiting, and pages."""
        values = self.metrics()
        return [values[name] for name in ("num_requests_running",
                                          "num_requests_waiting",
                                          "kv_cache_usage_perc")]

    def wait_until_idle(self, seconds=PATIENCE):
        """Until no row, queue entry or page is left; returns how long."""
        return wait_until(lambda: not any(self.work()), "all has ended",
                          seconds)


def run_cases(cases, *arguments):
    """Calls each with them, and says how long it took."""
    for case in cases:
        begin = time.monotonic()
        try:
            note = case(*arguments)
        except Failure as failure:
            sys.exit(f"{case.__name__}: {failure}")
        print(f"{case.__name__}: {time.monotonic() - begin:.1f} s" +
              (f", {note}" if note else ""), flush=True)
