#!/usr/bin/env python3
"""Runs lit suites and ends with 'N passed, N failed'.

  run-lit.py RESULTS.json FOLDER... [LIT OPTION...]

Unit tests run through lit's GoogleTest format, so that everything is counted in
one place. A skipped or unsupported test is listed with its name.
"""
import collections
import json
import pathlib
import subprocess
import sys

LIT = "/usr/lib/llvm-22/bin/lit"


def main():
    results = pathlib.Path(sys.argv[1])
    results.unlink(missing_ok=True)
    command = [LIT, "-sv", "--timeout=900", f"--output={results}", *sys.argv[2:]]
    status = subprocess.run(command).returncode
    if not results.exists():
        print("0 passed, 1 failed")
        return 1
    tests = json.loads(results.read_text())["tests"]
    count = collections.Counter(test["code"] for test in tests)
    skipped = [t for t in tests if t["code"] in ("UNSUPPORTED", "SKIPPED")]
    for test in skipped:
        print(f"skipped: {test['name']}")
    passed = count["PASS"] + count["FLAKYPASS"] + count["XFAIL"]
    failed = len(tests) - passed - len(skipped)
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed or status or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
