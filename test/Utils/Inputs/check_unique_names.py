#!/usr/bin/env python3
"""Checks that no two headers, and no two types of a namespace, have one name.

  check_unique_names.py CHECKOUT

A reader who meets a name knows then which header or type it is, whatever namespace
the file is in. Types inside of classes and functions are theirs alone and are not
looked at; nor are those of .cpp files. Prints each name that is there twice, with
the files that have it; exits with 1 if any.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("include", "lib", "runtime", "tools", "unittests", "fuzz")
HEADERS = (".h", ".cuh")

# MLIR's convention: one header of passes for each folder of them.
SHARED_HEADERS = {"Passes.h"}
# Two implementations of one interface, of which a program includes one.
SHARED_TYPES = {"MatrixProducts"}

NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|"
    r'"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:[^\n\\]|\\.)*', re.S | re.M)
NAMESPACE = re.compile(r"(?:^|\s)(?:namespace(?:\s+[\w:]+)?|extern)\s*$")
TEMPLATE = r"(?:template\s*<.*?>\s*)?"
TYPE = re.compile(
    TEMPLATE + r"(?:enum\s+class|enum|struct|class|union)\s+"
    r"(?:alignas\([^)]*\)\s*|\[\[\w+\]\]\s*|[A-Z]+_\w+\s+)*"
    r"(\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.S)
ALIAS = re.compile(TEMPLATE + r"using\s+(\w+)\s*=", re.S)


def types_of(text):
    """The types that a header defines in namespaces, by following its braces."""
    nesting = []  # for each open brace: whether it is a namespace's
    statement = ""
    for part in re.split(r"([{};])", NOT_CODE.sub(" ", text)):
        if part not in ("{", "}", ";"):
            statement += part
            continue
        statement = statement.strip()
        if part == "{":
            found = TYPE.match(statement)
            if found and all(nesting):
                yield found[1]
            nesting.append(bool(NAMESPACE.search(statement)))
        elif part == "}" and nesting:
            nesting.pop()
        elif part == ";":
            found = ALIAS.match(statement)
            if found and all(nesting):
                yield found[1]
        statement = ""


def check(root):
    headers, types = (collections.defaultdict(set) for _ in range(2))
    for path in sorted(each for folder in FOLDERS
                       for each in (root / folder).rglob("*")
                       if each.suffix in HEADERS):
        name = path.relative_to(root).as_posix()
        headers[path.name].add(name)
        for each in types_of(path.read_text()):
            types[each].add(name)
    for what, names, shared in (("header", headers, SHARED_HEADERS),
                                ("type", types, SHARED_TYPES)):
        for name, paths in sorted(names.items()):
            if len(paths) > 1 and name not in shared:
                yield f"two of one name, {what} {name}: {', '.join(sorted(paths))}"


def main():
    errors = list(check(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
