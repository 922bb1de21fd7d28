#!/usr/bin/env python3
"""Holds docs/Serving.md against the program that it describes.

  check_serving.py CHECKOUT PROGRAM FOLDER

Runs the ```sh blocks as they would be pasted, in FOLDER, where build/demo is
PROGRAM, against a server of it on a free port instead of 8000. Then looks for
what the page leaves out: options that --help lists, with their defaults, and what
the server's tables hold. Exits with 1 if something fails.
"""
import pathlib
import re
import shutil
import subprocess
import sys

UNDOCUMENTED = ("Emulation:", "Testing:")  # groups of --help
# Where a table of the server is, and what its entries look like.
TABLES = {
    "runtime/serve/Endpoints.cpp": r'\{"(?:GET|POST)", "([^"]+)", &',
    "runtime/serve/ServeMetrics.cpp": r'"sluice:(\w+)"',
    "runtime/openai/Parameters.cpp": r'^    \{"(\w+)"',
}


def run_examples(text, folder, port):
    # An error of the server is one of the command; no progress bars.
    setup = ("curl() { command curl -sS --fail-with-body \"$@\"; "
             "local status=$?; echo; return $status; }\n")
    failed = False
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        print(block, flush=True)
        script = setup + block.replace("localhost:8000", f"127.0.0.1:{port}")
        failed |= subprocess.run(["bash", "-euo", "pipefail", "-c", script],
                                 cwd=folder, check=False).returncode != 0
    return failed


def options(*command):
    """Those of --help, without the groups that the page leaves to it: names and
    defaults."""
    text = subprocess.run([*command, "--help"], check=True,
                          capture_output=True, text=True).stdout
    group = ""
    for line in text.splitlines():
        if re.fullmatch(r"\S.*:", line):
            group = line
        option = re.match(r" +(?:-\w,)?(--[\w-]+)(?: [A-Z]+=(\S+))?", line)
        if option and group not in UNDOCUMENTED and option[1] not in (
                "--help", "--version"):
            yield option[1], option[2]


def missing_options(text, program):
    """What is in no table's first column, or there with other defaults alone."""
    rows = {}
    for line in text.splitlines():
        first, *others = line.strip("|").split(" | ")
        if line.startswith("|"):
            for name in re.findall(r"--[\w-]+", first):
                rows.setdefault(name, []).extend(others)
    for command in ([program, "serve"], [program, "bench"], ["sluice-bench"]):
        for name, default in options(*command):
            if name not in rows:
                yield name
            elif default and not re.search(rf"\b{re.escape(default)}\b",
                                           " ".join(rows[name])):
                yield f"{name}'s default of {default}"


def missing(text, checkout, program):
    yield from missing_options(text, program)
    names = set()
    for file, entry in TABLES.items():
        found = re.findall(entry, (checkout / file).read_text(), re.M)
        if not found:
            yield f"a table in {file}"
        names.update(found)
    listed = re.search(r"harmless\[\] = \{(.*?)\};", (
        checkout / "runtime/openai/Parameters.cpp").read_text(), re.S)
    names.update(re.findall(r'"(\w+)"', listed[1]))
    words = set(re.findall(r"[\w/-]+", " ".join(re.findall(r"`[^`\n]+`", text))))
    yield from sorted(names - words)


def main():
    checkout, program, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    sys.path.insert(0, str(checkout / "test/EndToEnd"))
    from serving import Server
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build").mkdir(parents=True)
    (folder / "build/demo").symlink_to(program)
    (folder / "build/bin").symlink_to(
        pathlib.Path(shutil.which("sluice-bench")).parent)
    text = (checkout / "docs/Serving.md").read_text()
    with Server([program]) as server:
        failed = run_examples(text, folder, server.port)
    for name in missing(text, checkout, program):
        print(f"not in docs/Serving.md: {name}")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
