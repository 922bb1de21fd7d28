#!/usr/bin/env python3
"""Compares what a build made of test/models with its SHA256SUMS.

  check_model_sums.py MODELS SHA256SUMS

Both ways: a file that was made and is not listed is as wrong as one that is listed
and was not made. Exit status 1: something differs.
"""
import hashlib
import pathlib
import sys


def main():
    models, sums = map(pathlib.Path, sys.argv[1:])
    listed = {path: digest for digest, path in
              (line.split() for line in sums.read_text().splitlines())}
    made = {path.relative_to(models).as_posix():
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in models.glob("*/**/*")
            if path.is_file() and not path.is_symlink()}
    for path in sorted(made.keys() | listed.keys()):
        if made.get(path) != listed.get(path):
            print(f"{path}: {made.get(path, 'not made')}, "
                  f"SHA256SUMS has {listed.get(path, 'none')}")
    print(f"{len(made)} files made, {len(listed)} listed")
    return 0 if made == listed else 1


if __name__ == "__main__":
    sys.exit(main())
