"""Runs parts, each for its own time at most, and keeps what they said."""
import datetime
import json
import pathlib
import tempfile
import time

from . import parts, report
from .machine import Failure, Machine, NotHere, lines_of

# What a part must have left to be begun.
LEAST_S = 5


def run_part(part, machine, left):
    """What became of it. What it had said when it failed is kept."""
    start = time.monotonic()
    machine.commands = []
    machine.deadline = start + min(part.seconds, left)
    result = {"name": part.name, "status": "passed"}
    try:
        result["data"] = part.run(machine)
    except NotHere as reason:
        result.update(status="not run", why=str(reason))
    except TimeoutError as said:
        result.update(status="failed",
                      why=f"not done within {min(part.seconds, left):.0f} s",
                      data=list(lines_of(str(said))))
    except Failure as reason:
        result.update(status="failed", why=reason.args[0],
                      data=list(lines_of(reason.args[1]
                                         if len(reason.args) > 1 else "")))
    except Exception as unexpected:  # a part's mistake costs that part alone
        result.update(status="failed",
                      why=f"{type(unexpected).__name__}: {unexpected}")
    result["seconds"] = round(time.monotonic() - start, 1)
    result["commands"] = machine.commands
    return result


def write(machine, made):
    """After each part, so that a part that takes the machine costs no other."""
    (machine.report / "check-device.json").write_text(
        json.dumps(made, indent=1) + "\n")
    (machine.report / "check-device.md").write_text(report.markdown(made))


def run(carry, folder, only, seconds):
    with tempfile.TemporaryDirectory() as scratch:
        return run_parts(Machine(carry, folder, pathlib.Path(scratch)), only,
                         seconds)


def run_parts(machine, only, seconds):
    carry, folder = machine.carry, machine.report
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output.txt").unlink(missing_ok=True)
    end = time.monotonic() + seconds
    manifest = carry / "manifest.json"
    made = {"date": datetime.datetime.now(datetime.timezone.utc)
            .strftime("%Y-%m-%d %H:%M UTC"),
            "build": json.loads(manifest.read_text())
            if manifest.is_file() else None, "parts": []}
    first = run_part(parts.DEVICE, machine, end - time.monotonic())
    if first["status"] != "passed":
        why = first["why"].split("error: ")[-1]
        made["nothing"] = why
        made["parts"] = [{"name": part.name, "status": "not run",
                          "why": "nothing was"} for part in parts.PARTS]
        write(machine, made)
        print(f"check-device: nothing was run: {why}")
        return 1
    made["device"] = machine.found["device"]
    for part in parts.PARTS:
        left = end - time.monotonic()
        if only and part.name not in only:
            result = {"name": part.name, "status": "not run",
                      "why": "not asked for"}
        elif left < LEAST_S:
            result = {"name": part.name, "status": "not run",
                      "why": "no time was left"}
        else:
            result = run_part(part, machine, left)
        print(f"{part.name}: {result['status']}"
              + (f" ({result['why']})" if "why" in result else ""), flush=True)
        made["parts"].append(result)
        made["found"] = machine.found
        write(machine, made)
    counts = {status: sum(each["status"] == status for each in made["parts"])
              for status in ("passed", "failed", "not run")}
    print(", ".join(f"{n} {status}" for status, n in counts.items()))
    return 1 if counts["failed"] else 0
