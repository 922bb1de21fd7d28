"""exit_status.py N COMMAND...: succeeds when the command exits with status N."""
import subprocess
import sys

done = subprocess.run(sys.argv[2:], capture_output=True, check=False)
if done.returncode != int(sys.argv[1]):
    sys.exit(f"exit status {done.returncode}: {done.stderr.decode()}")
