"""Programs that a measurement runs, and how it ends where one fails."""
import subprocess
import sys

# Missed targets are 1.
NOT_MEASURED = 2


def fail(text):
    """Ends the measurement."""
    print(text, file=sys.stderr)
    raise SystemExit(NOT_MEASURED)


def joined(command):
    return " ".join(map(str, command))


def _done(command):
    """A command that fails ends the measurement with what it says."""
    try:
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}")
    if done.returncode:
        fail(f"{joined(command)}: status {done.returncode}: "
             + done.stderr.strip()[-2000:])
    return done


def run(command):
    """What a command prints."""
    return _done(command).stdout


def said(command):
    """Likewise, with what it prints of itself."""
    done = _done(command)
    return done.stdout + done.stderr
