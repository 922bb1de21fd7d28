#!/usr/bin/env python3
"""Replaces a carried program by one whose weights are others on the GPU.

  break_seed.py CARRY NAME
"""
import lzma
import pathlib
import sys

SCRIPT = """#!/bin/sh
case "$*" in *"--device cuda"*) seed=2 ;; *) seed=1 ;; esac
exec {real} $(echo "$*" | sed "s/--random-weights 1/--random-weights $seed/")
"""

carry, name = pathlib.Path(sys.argv[1]), sys.argv[2]
packed = carry / "programs" / (name + ".xz")
real = carry / (name + ".real")
real.write_bytes(lzma.decompress(packed.read_bytes()))
real.chmod(0o755)
packed.write_bytes(lzma.compress(SCRIPT.format(real=real).encode()))
