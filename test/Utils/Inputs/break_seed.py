#!/usr/bin/env python3
"""Replaces a carried program by one whose weights are others on the GPU.

  break_seed.py CARRY NAME
"""
import pathlib
import sys
import tarfile

SCRIPT = """#!/bin/sh
case "$*" in *"--device cuda"*) seed=2 ;; *) seed=1 ;; esac
exec {real} $(echo "$*" | sed "s/--random-weights 1/--random-weights $seed/")
"""

carry, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
archive, programs = carry / "programs.tar.xz", carry / "programs"
with tarfile.open(archive) as packed:
    packed.extractall(programs)
real = programs / (name + ".real")
(programs / name).rename(real)
(programs / name).write_text(SCRIPT.format(real=real))
(programs / name).chmod(0o755)
with tarfile.open(archive, "w:xz", preset=0) as packed:
    for each in programs.iterdir():
        if each != real:
            packed.add(each, arcname=each.name)
