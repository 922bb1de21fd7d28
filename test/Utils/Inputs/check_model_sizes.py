#!/usr/bin/env python3
"""Holds the tracked files of test/models to their limits.

  check_model_sizes.py CHECKOUT

What is tracked is what `git ls-files` says, as long as it is in the working tree.
Exit status 1: something is too large, or a model's numbers stand twice.
"""
import collections
import pathlib
import subprocess
import sys

ALL = 26_000_000
TINY, OF_A_SEED, WITH_WEIGHTS = ("archs", "options", "fp8"), 100_000, 250_000


def troubles(sizes):
    """sizes: of files, by their parts below test/models."""
    if sum(sizes.values()) > ALL:
        yield f"test/models: {sum(sizes.values())} bytes, more than {ALL}"
    folders = collections.defaultdict(dict)
    for parts, size in sizes.items():
        if parts[0] in TINY and len(parts) > 2:
            folders["/".join(parts[:2])][parts[2:]] = size
    for name, files in sorted(folders.items()):
        seeded = ("weights.json",) in files
        limit = OF_A_SEED if seeded else WITH_WEIGHTS
        if sum(files.values()) > limit:
            yield f"{name}: {sum(files.values())} bytes, more than {limit}"
        if seeded and any(parts[-1].endswith(".safetensors") for parts in files):
            yield f"{name}: weights beside the weights.json that makes them"


def main():
    checkout = pathlib.Path(sys.argv[1])
    listed = subprocess.run(
        ["git", "-C", checkout, "ls-files", "-z", "test/models"], check=True,
        capture_output=True, text=True).stdout.split("\0")
    sizes = {pathlib.Path(path).parts[2:]: (checkout / path).stat().st_size
             for path in listed if path and (checkout / path).is_file()}
    found = list(troubles(sizes))
    for trouble in found:
        print(trouble)
    print(f"{len(sizes)} files, {sum(sizes.values())} bytes, "
          f"{len(found)} too large or twice")
    return 1 if found or not sizes else 0


if __name__ == "__main__":
    sys.exit(main())
