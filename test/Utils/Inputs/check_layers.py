#!/usr/bin/env python3
"""Checks that the runtime's folders include each other in one direction.

  check_layers.py CHECKOUT

The order is that of runtime/CMakeLists.txt: a folder may include those above it
there, and never those below. A file belongs to the longest of these folders that
it lies in (comm/nccl/NcclLink.h to comm/nccl, not to comm). Tests may include more,
since a test may use what nobody else does; the runtime includes nothing of the
compiler. Prints each include that breaks this; exits with 1 if any.
"""
import pathlib
import re
import sys

SOURCES = (".h", ".cpp", ".cu", ".cuh", ".inc")


def folder_of(name, order):
    """The folder that a file of the runtime belongs to; none in its own."""
    return max((each for each in order if name.startswith(each + "/")),
               key=len, default=None)


def check(root):
    runtime = root / "runtime"
    order = re.findall(r"^add_subdirectory\(([\w/]+)\)",
                       (runtime / "CMakeLists.txt").read_text(), re.M)
    for path in sorted(runtime.rglob("*")):
        name = path.relative_to(runtime).as_posix()
        if path.suffix not in SOURCES or "/test/" in name:
            continue
        own = folder_of(name, order)
        if own is None:
            yield f"runtime/{name}: in no folder of runtime/CMakeLists.txt"
            continue
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"',
                                   path.read_text(), re.M):
            if included.startswith("sluice/"):
                yield f"runtime/{name}: includes {included}, of the compiler"
            if not included.startswith("runtime/"):
                continue
            other = folder_of(included.removeprefix("runtime/"), order)
            if other is None or order.index(other) > order.index(own):
                yield (f"runtime/{name}: includes {included}, "
                       f"and {own} stands above {other}")


def main():
    errors = list(check(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
