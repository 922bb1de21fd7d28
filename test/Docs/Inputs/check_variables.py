#!/usr/bin/env python3
"""Compares docs/Variables.md with the sources.

  check_variables.py CHECKOUT

Sources name a variable in quotes ("SLUICE_..."), CMake's files in option(), find_*()
and set(... CACHE), scripts after a dollar sign or in an environment. Says which are
on one side only, and exits with 1 if there are any.
"""
import pathlib
import re
import sys

PATTERNS = {
    ("runtime", "lib", "tools"): (
        ("*.cpp", "*.h"), r'"(SLUICE_[A-Z0-9_]+)"'),
    ("CMakeLists.txt", "cmake", "runtime", "test"): (
        ("CMakeLists.txt", "*.cmake"),
        r"(?:option|find_\w+)\((SLUICE_\w+)|set\((SLUICE_\w+)[^)]*CACHE"),
    ("utils", "test"): (
        ("*",), r'\$\{?(SLUICE_[A-Z0-9_]+)|"(SLUICE_[A-Z0-9_]+)(?:=\w+)?"'),
}


def files_of(root, folder, patterns):
    place = root / folder
    if place.is_file():
        return [place]
    return [path for pattern in patterns for path in place.rglob(pattern)
            if path.is_file() and "models" not in path.parts]


def named_in_sources(root):
    for folders, (patterns, expression) in PATTERNS.items():
        for folder in folders:
            for path in files_of(root, folder, patterns):
                text = path.read_text(errors="ignore")
                for match in re.finditer(expression, text):
                    name = next(filter(None, match.groups()))
                    yield name, path.relative_to(root)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    page = (root / "docs/Variables.md").read_text()
    told = set(re.findall(r"`(SLUICE_[A-Z0-9_]+)`", page))
    used = dict(named_in_sources(root))
    for name in sorted(used.keys() - told):
        print(f"docs/Variables.md: {name} is missing, of {used[name]}")
    for name in sorted(told - used.keys()):
        print(f"docs/Variables.md: {name} is told of, and nothing reads it")
    return int(used.keys() != told)


if __name__ == "__main__":
    sys.exit(main())
