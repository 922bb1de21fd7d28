"""Runs the parts of a stage, each for its own time at most."""
import pathlib
import signal
import sys
import tempfile
import time

from . import report
from .machine import Failure, Machine, NotHere, Results, now
from .stages import STAGES

# What a part must have left to be begun.
LEAST_S = 2


def run_part(part, machine, end):
    """Runs it, and keeps what became of it as a result."""
    machine.part = part.name
    start = time.monotonic()
    limit = part.seconds * machine.slower
    machine.deadline = min(start + limit, end)
    ended = {"ended": "passed"}
    try:
        before = len(machine.results.lines)
        part.run(machine)
        wrong = sum(line.get("holds") is False
                    for line in machine.results.lines[before:])
        if wrong:
            ended = {"ended": "failed", "why": f"{wrong} results do not hold"}
    except NotHere as reason:
        ended = {"ended": "not run", "why": str(reason)}
    except (Failure, TimeoutError) as reason:
        ended = {"ended": "failed", "why": str(reason)}
    except Exception as unexpected:  # a part's mistake costs that part alone
        ended = {"ended": "failed",
                 "why": f"{type(unexpected).__name__}: {unexpected}"}
    machine.add(**ended, limit=limit,
                seconds=round(time.monotonic() - start, 1))


def run_stage(machine, stage, only, seconds):
    """All parts, in order; the device first, which must have said its name, or
    nothing else is run."""
    end = machine.began + seconds * machine.slower
    isThere = True
    for part in stage.parts:
        machine.part = part.name
        if only and part.name not in only:
            machine.add(ended="not run", why="not asked for")
        elif not isThere:
            machine.add(ended="not run", why="there is no device")
        elif end - time.monotonic() < LEAST_S:
            machine.add(ended="not run", why="no time was left")
        else:
            run_part(part, machine, end)
        if part is stage.parts[0]:
            isThere = machine.results.lines[-1]["ended"] == "not run" or any(
                "name" in line for line in machine.results.lines)


def end_when_told(machine):
    """Whoever ends this process by a signal ends what it has started as well."""
    def end(number, _):
        machine.end_all()
        sys.exit(128 + number)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def run(number, carry, folder, only, seconds, options, slower):
    """Status 0 where something has passed, and nothing failed."""
    stage = STAGES[number]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output.txt").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        machine = Machine(carry, folder, pathlib.Path(scratch),
                          Results(folder / f"stage-{number}.jsonl"),
                          options=options, slower=slower,
                          began=time.monotonic())
        end_when_told(machine)
        machine.part = "start"
        machine.add(stage=number, date=now(), build=machine.manifest(),
                    options=list(options))
        run_stage(machine, stage, only, seconds or stage.seconds)
        print(report.table_of(machine.results.lines, machine.manifest()))
        return 0 if report.succeeded(machine.results.lines) else 1
