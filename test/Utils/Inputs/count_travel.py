#!/usr/bin/env python3
"""Counts the files of a checkout and of a folder beside it, without the script
that is tested; fails where they are more than so many MiB.

  count_travel.py CHECKOUT FOLDER MIB
"""
import pathlib
import sys

checkout, folder, most = map(pathlib.Path, sys.argv[1:4])
total = sum(path.lstat().st_size for root in (checkout, folder)
            for path in root.rglob("*")
            if not path.is_dir() and ".git" not in path.relative_to(root).parts)
print(f"{total / 2**20:.1f} MiB travel")
sys.exit(total > int(str(most)) * 2**20)
