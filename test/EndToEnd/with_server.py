#!/usr/bin/env python3
# Part of the Sluice project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with the URL of a server behind it, while that serves.

  with_server.py ./model [SERVE OPTION...] -- COMMAND [ARGUMENT...]

Exit status: the command's.
"""
import subprocess
import sys

from serving import Server


def main():
    at = sys.argv.index("--")
    program, *options = sys.argv[1:at]
    with Server([program], *options) as server:
        done = subprocess.run([*sys.argv[at + 1:], server.url])
        server.wait_until_idle()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
