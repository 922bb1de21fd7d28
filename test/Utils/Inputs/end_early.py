#!/usr/bin/env python3
"""Ends a command by a signal, KILL or TERM, when a file has a word, and waits for
its end.

  end_early.py SIGNAL FILE WORD COMMAND...
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

number = signal.Signals["SIG" + sys.argv[1]]
path, word, command = pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
process = subprocess.Popen(command, start_new_session=True,
                           stdout=subprocess.DEVNULL)
end = time.monotonic() + 60
while not (path.is_file() and word in path.read_text()):
    if time.monotonic() > end or process.poll() is not None:
        sys.exit(f"{path} has got no '{word}'")
    time.sleep(0.05)
os.killpg(process.pid, number)
process.wait()
