#!/usr/bin/env python3
"""Ends a command by force when a file has a word.

  end_early.py FILE WORD COMMAND...
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

path, word, command = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
process = subprocess.Popen(command, start_new_session=True,
                           stdout=subprocess.DEVNULL)
end = time.monotonic() + 60
while not (path.is_file() and word in path.read_text()):
    if time.monotonic() > end or process.poll() is not None:
        sys.exit(f"{path} has got no '{word}'")
    time.sleep(0.05)
os.killpg(process.pid, signal.SIGKILL)
process.wait()
