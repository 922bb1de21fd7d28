#!/usr/bin/env python3
"""Runs lit suites and ends with 'N passed, N failed'.

  run-lit.py RESULTS.xml FOLDER... [LIT OPTION...]

Unit tests run through lit's GoogleTest format, so that everything is counted in
one place. A skipped test is counted and listed with its reason, and what has
failed is said again at the end.
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


def reported(results, folders):
    """Prints the skipped tests by reason, then the failed ones, so that what
    has failed is at the end of a long log. Returns how many there are of each
    kind."""
    passed, failed, skipped = 0, [], {}
    for case in ElementTree.parse(results).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skip, failure = case.find("skipped"), case.find("failure")
        if skip is None and failure is None:
            passed += 1
        elif failure is not None:
            failed.append((name, failure.text or ""))
        elif not skip.get("message").startswith("Test not selected"):
            reason = unit_test_reason(case, folders) or skip.get("message")
            skipped.setdefault(reason, []).append(name)
    for reason, names in skipped.items():
        print(f"{len(names)} skipped: {reason}")
        print("".join(f"  {name}\n" for name in names), end="")
    for name, output in failed:
        print(f"failed: {name}")
        print("".join(f"  {line}\n" for line in output.splitlines()[-40:]),
              end="")
    return passed, len(failed), sum(map(len, skipped.values()))


def main():
    results, rest = pathlib.Path(sys.argv[1]), sys.argv[2:]
    results.unlink(missing_ok=True)
    status = subprocess.run([LIT, "-sv", "--timeout=900",
                             f"--xunit-xml-output={results}", *rest]).returncode
    if not results.exists():
        print("0 passed, 1 failed")
        return 1
    passed, failed, skipped = reported(results, rest)
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or status or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
