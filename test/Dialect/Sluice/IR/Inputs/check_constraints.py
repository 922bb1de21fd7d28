#!/usr/bin/env python3
"""Checks that the dialect's descriptions, verifiers and tests keep together.

  check_constraints.py CHECKOUT

For each op, type and attribute of include/sluice/Dialect/Sluice/IR/*.td:
  - each constraint "(Cn)" is cited as `mnemonic_cn` in a comment of the
    verifiers or, where a trait or type checks it, beside that in the .td file;
  - the same name is cited in an invalid*.mlir file of test/Dialect/Sluice/IR;
  - no such name is cited that has no constraint;
  - there is a summary and a description with an example;
  - each example stands, white space aside, in a .mlir file of
    test/Dialect/Sluice/IR that sluice-opt takes ("..." stands for anything).
Prints what is wrong, one line each; exits with 1 if there is any.
"""
import pathlib
import re
import sys

CITATION = re.compile(r"//.*?\b([a-z][a-z0-9_]*_c[0-9]+)\b")


def definitions(text):
    """(mnemonic, body) of every op, type and attribute in a .td file."""
    start = re.compile(
        r"^def Sluice_\w+\s*:\s*Sluice_"
        r'(?:\w*Op<|(?:Type|Attr)<"\w+",)\s*"(\w+)"', re.M)
    for match in start.finditer(text):
        end = text.find("\n}\n", match.start())
        yield match.group(1), text[match.start():end]


def description_of(body):
    match = re.search(r"let description = \[\{(.*?)\}\];", body, re.S)
    return match.group(1) if match else ""


def citations(paths):
    found = {}
    for path in paths:
        for line in path.read_text().splitlines():
            for comment in CITATION.findall(line):
                found.setdefault(comment, path)
    return found


def squeeze(text):
    """The text without comments, checks and white space."""
    lines = [line.split("//")[0] for line in text.splitlines()]
    return "".join("".join(lines).split())


def is_example_run(example, tests):
    parts = squeeze(example).split("...")
    pattern = re.compile(".*?".join(map(re.escape, parts)))
    return any(pattern.search(test) for test in tests)


def check(root):
    folder = root / "include/sluice/Dialect/Sluice/IR"
    test_folder = root / "test/Dialect/Sluice/IR"
    sources = sorted(folder.glob("*.td"))
    checked = citations(
        sources + sorted((root / "lib/Dialect/Sluice/IR").glob("*.cpp")))
    tested = citations(sorted(test_folder.glob("invalid*.mlir")))
    tests = [squeeze(path.read_text()) for path in test_folder.glob("ops*.mlir")]
    constraints = set()
    count = 0
    for path in sources:
        for mnemonic, body in definitions(path.read_text()):
            count += 1
            description = description_of(body)
            if 'let summary = "' not in body or not description:
                yield f"{mnemonic}: has no summary or no description"
            examples = re.findall(r"```mlir\n(.*?)```", description, re.S)
            if not examples:
                yield f"{mnemonic}: its description has no example"
            for example in examples:
                if not is_example_run(example, tests):
                    yield (f"{mnemonic}: no {test_folder.name}/ops*.mlir has "
                           f"its example: {squeeze(example)}")
            for number in re.findall(r"^\s*- \(C(\d+)\)", description, re.M):
                name = f"{mnemonic}_c{number}"
                constraints.add(name)
                if name not in checked:
                    yield f"{name}: no verifier cites it"
                if name not in tested:
                    yield f"{name}: no invalid test cites it"
    for name, path in {**checked, **tested}.items():
        if name not in constraints:
            yield f"{name}: cited in {path.name}, but no description has it"
    if count < 20 or len(constraints) < 50:
        yield f"found only {count} definitions, {len(constraints)} constraints"


def main():
    errors = list(check(pathlib.Path(sys.argv[1])))
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
