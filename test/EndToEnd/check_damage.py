#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages the files of an executable's weights and sees what it makes of that.

  check_damage.py ./model MODEL.gguf ./embedded ./gpu GPU.gguf

`embedded` has its weights inside; `gpu` is for the emulated GPU. Exit status: 0
when all is as it should be, 1 when not.
"""
import contextlib
import json
import pathlib
import re
import subprocess
import sys

from serving import Server, check, run_cases, wait_until

PROMPT = "A pass is"
WRONG = "; what was computed with these weights may be wrong"


def generate(program, *options):
    words = [program, "generate", "-p", PROMPT, "-n", "16", "--json", *options]
    return subprocess.run(words, capture_output=True, text=True)


def expect(done, status, said, text=None):
    """That a process has ended so; `said` is a pattern of all of stderr."""
    check(done.returncode == status, "exit status", done.returncode,
          done.stderr)
    check(re.fullmatch(said, done.stderr), "said", done.stderr, said)
    if text is not None:
        check(json.loads(done.stdout)["text"] == text, "another text",
              done.stdout)


def flip(path, first, count, every):
    """Flips a bit in each of `count` bytes."""
    with open(path, "r+b") as file:
        for at in range(first, first + count * every, every):
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << at % 8]))


def between_samples(path):
    """A place that the file's identity does not see: in the midst of two of the
    256 samples that it is made of (runtime/base/FileIdentity.h)."""
    last = path.stat().st_size - 4096
    places = [last * i // 256 for i in (128, 129)]
    return (places[0] + 4096 + places[1]) // 2


class Case:
    def __init__(self, program, model, embedded, gpu, gpu_model):
        self.program, self.embedded, self.gpu = program, embedded, gpu
        self.model = pathlib.Path(model)
        self.gpu_model = pathlib.Path(gpu_model)
        self.cache = pathlib.Path(program + ".weights")
        self.text = json.loads(generate(program).stdout)["text"]


def ended_server(program):
    """A server that ends by itself, before it listens or after."""
    return subprocess.run([program, "serve", "--port", "0"], timeout=240,
                          capture_output=True, text=True)


@contextlib.contextmanager
def running_server(case):
    """One that is going to end by itself."""
    server = Server([case.program])
    try:
        yield server
    finally:
        server.kill()


def cache_verified_first(case):
    """40 flipped bits, a page of zeros, a digest: packed again."""
    name = re.escape(str(case.cache))
    size = case.cache.stat().st_size
    for damage in (lambda: flip(case.cache, 4096, 40, (size - 4096) // 40),
                   lambda: flip(case.cache, size // 2, 1, 1),
                   lambda: zero_page(case.cache, size // 2 // 4096 * 4096)):
        damage()
        expect(generate(case.program, "--verify", "full"), 0,
               f"{name}: weight '.*' is damaged; packing the weights again\n",
               case.text)
        expect(generate(case.program, "--verify", "full"), 0, "", case.text)


def zero_page(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        check(any(file.read(4096)), "the page is zeros already")
        file.seek(at)
        file.write(bytes(4096))


def cache_beside_steps(case):
    """The server ends, and its next start packs again."""
    name = re.escape(str(case.cache))
    said = (f"m: error: {name}: weight '.*' is damaged; the file has been "
            f"removed, and the next start packs the weights again{WRONG}\n")
    flip(case.cache, case.cache.stat().st_size // 2, 1, 1)
    done = ended_server(case.program)
    check(done.returncode == 1 and re.search(said, done.stderr), "the server",
          done.returncode, done.stderr)
    check(not case.cache.exists(), "the cache is there")
    expect(generate(case.program), 0, "", case.text)
    check(case.cache.exists(), "the cache is not there")

    with running_server(case) as server:
        flip(case.cache, case.cache.stat().st_size // 3, 1, 1)
        check(server.wait() == 1 and re.search(said, server.said()),
              "the server that ran", server.said())
    expect(generate(case.program), 0, "", case.text)


def changed_model(case):
    """200 bytes where no sample is taken."""
    whole = case.model.read_bytes()
    at = between_samples(case.model)
    flip(case.model, at, 200, 1)
    case.cache.unlink()
    name = re.escape(str(case.model))
    expect(generate(case.program), 1,
           f"m: error: {name}: weight '.*' has changed since the program was "
           "compiled from it; restore the file, or compile it again\n")
    check(not case.cache.exists(), "a changed model was packed")
    case.model.write_bytes(whole)
    expect(generate(case.program), 0, "", case.text)


def cut_short(case):
    """Each file under a server that uses it."""
    for path in (case.model, case.cache):
        whole = path.read_bytes()
        with running_server(case) as server:
            with open(path, "r+b") as file:
                file.truncate(8192)
            check(server.wait() == 1, "the server's exit status",
                  server.said())
            check(f"m: error: {path}: has been cut short while it was in use\n"
                  in server.said(), "the server said", server.said())
        path.write_bytes(whole)
    expect(generate(case.program, "--verify", "full"), 0, "", case.text)


def embedded_weights(case):
    """They are refused, since there is nothing to pack them from."""
    expect(generate(case.embedded, "--verify", "full"), 0, "")
    path = pathlib.Path(case.embedded)
    flip(path, path.stat().st_size - 100000, 1, 1)
    name = re.escape(str(path))
    expect(generate(case.embedded, "--verify", "full"), 1,
           f"embedded: error: {name}: weight '.*' is damaged; copy or compile "
           "the program again\n")


def model_of_a_gpu(case):
    """Its weights are read from the model's file at each start."""
    expect(generate(case.gpu, "--verify", "full"), 0, "")
    flip(case.gpu_model, between_samples(case.gpu_model), 200, 1)
    said = (f"{re.escape(str(case.gpu_model))}: weight '.*' has changed since "
            "the program was compiled from it; restore the file, or compile "
            "it again")
    expect(generate(case.gpu, "--verify", "full"), 1, f"gpu: error: {said}\n")
    with Server([case.gpu], "--verify", "off"):
        pass
    done = ended_server(case.gpu)
    check(done.returncode == 1 and re.search(said + WRONG, done.stderr),
          "the server", done.returncode, done.stderr)


def counters(case):
    """A server that is whole says how far it is, and goes on."""
    def value(name):
        text = server.get("/metrics").body.decode()
        return int(re.search(rf"^sluice:{name}{{.*}} (\d+)$", text, re.M)[1])

    with Server([case.program]) as server:
        wait_until(lambda: value("weight_passes_total") >= 2, "two passes")
        check(value("weight_bytes_verified_total") >
              case.cache.stat().st_size, "bytes")
    with Server([case.program], "--verify", "off") as server:
        check(value("weight_bytes_verified_total") == 0, "verified, though off")


def main():
    case = Case(*sys.argv[1:])
    cases = [cache_verified_first, cache_beside_steps, changed_model, cut_short,
             embedded_weights, model_of_a_gpu, counters]
    run_cases(cases, case)


if __name__ == "__main__":
    main()
