#!/usr/bin/env python3
"""Runs lit suites and ends with 'N passed, N failed'.

  run-lit.py RESULTS.xml FOLDER... [LIT OPTION...]

Unit tests run through lit's GoogleTest format, so that everything is counted in
one place. A skipped test is counted and listed with its reason.
"""
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

LIT = "/usr/lib/llvm-22/bin/lit"


def unit_test_reason(case, folders):
    """What a skipped GoogleTest says of itself; lit does not pass it on."""
    parts = case.get("classname").split("/")
    for folder in folders:
        program = pathlib.Path(folder, parts[1] if len(parts) > 2 else "")
        if program.is_file():
            out = subprocess.run(
                [program, f"--gtest_filter={'/'.join(parts[2:])}.{case.get('name')}"],
                capture_output=True, text=True).stdout.splitlines()
            for line, following in zip(out, out[1:]):
                if line.endswith(": Skipped"):
                    return following
    return None


def main():
    results, rest = pathlib.Path(sys.argv[1]), sys.argv[2:]
    results.unlink(missing_ok=True)
    status = subprocess.run([LIT, "-sv", "--timeout=900",
                             f"--xunit-xml-output={results}", *rest]).returncode
    if not results.exists():
        print("0 passed, 1 failed")
        return 1
    passed = failed = skipped = 0
    for case in ElementTree.parse(results).iter("testcase"):
        skip = case.find("skipped")
        if skip is None:
            failed += case.find("failure") is not None
            passed += case.find("failure") is None
        elif not skip.get("message").startswith("Test not selected"):
            skipped += 1
            reason = unit_test_reason(case, rest) or skip.get("message")
            print(f"skipped: {case.get('classname')}.{case.get('name')}: {reason}")
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or status or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
