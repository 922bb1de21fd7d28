"""What is to be done with a GPU, the most telling first.

A part is a name, the seconds that it may take, and a function of machine.Machine,
which returns what the report shows: mostly the JSON lines that a program wrote.
"""
import dataclasses
import importlib.util
import pathlib
import sys
import typing

from . import models
from .machine import Failure, NotHere, lines_of

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    seconds: float
    run: typing.Callable


def bench(machine, part):
    return list(lines_of(
        machine.run(machine.program("sluice-cuda-bench"), part)))


def device(machine):
    machine.found["device"] = bench(machine, "device")[0]
    return machine.found["device"]


def versions(machine):
    """What is installed; what is not is left out."""
    found = {}
    for name, command in {
            "driver": ("nvidia-smi", "--query-gpu=driver_version,name",
                       "--format=csv,noheader"),
            "nvcc": ("nvcc", "--version"),
            "compute-sanitizer": ("compute-sanitizer", "--version"),
            "ncu": ("ncu", "--version")}.items():
        try:
            out = machine.run(machine.tool(command[0]), *command[1:])
            found[name] = out.strip().splitlines()[-1]
        except (NotHere, Failure):
            continue
    try:
        found.update(torch_script(machine, "torch_versions.py")[0])
    except (NotHere, Failure):
        pass
    machine.found["versions"] = found
    return found


def copy(machine):
    measured = bench(machine, "copy")
    machine.found["copy"] = measured[0]["gigabytesPerSecond"]
    return measured


def torch_script(machine, name, *arguments):
    """A script of this folder under the machine's own Python."""
    try:
        return list(lines_of(
            machine.run(sys.executable, HERE / name, *arguments)))
    except Failure as failure:
        if "No module named" in failure.args[0]:
            raise NotHere(failure.args[0].split(": ")[-1]) from None
        raise


def rates(machine):
    measured = torch_script(machine, "torch_rates.py")
    for each in measured:
        if "teraflops" in each:
            machine.found["teraflops"] = each["teraflops"]
    return measured


def decode_peer(machine):
    """PyTorch's own decoding of the same shapes."""
    return torch_script(machine, "torch_decode.py")


def unit_tests(machine):
    """Over the emulator: whether what was carried is what was tested. ptxas'
    reports stay where they were made."""
    out = machine.run(machine.program("SluiceCudaTests"), "--gtest_brief=1",
                      "--gtest_filter=-KernelImagesTest.*")
    return [{"summary": out.strip().splitlines()[-1]}]


def nccl_library():
    """PyTorch brings one, which the loader does not see."""
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations if package else ():
        library = pathlib.Path(folder) / "nccl/lib/libnccl.so.2"
        if library.is_file():
            return {"SLUICE_NCCL_LIBRARY": str(library)}
    return {}


def nccl_tests(machine):
    """The conformance suite over the real library: one rank, or two."""
    out = machine.run(machine.program("SluiceNcclTests"),
                      "--gtest_filter=NcclReal*:NcclLibrary*",
                      environment=nccl_library())
    return [{"said": line} for line in out.splitlines()
            if "Skipped" in line or "PASSED" in line or "NCCL:" in line]


def sanitizer(machine):
    """Bad accesses of all kernels that `check` runs."""
    out = machine.run(machine.tool("compute-sanitizer"), "--tool", "memcheck",
                      "--error-exitcode", "3",
                      machine.program("sluice-cuda-bench"), "check")
    said = [line for line in out.splitlines() if "ERROR SUMMARY" in line]
    return [{"summary": said[-1].strip("= ") if said else "no summary"}]


DEVICE = Part("device", 30, device)
PARTS = (
    Part("versions", 40, versions),
    Part("copy", 30, copy),
    Part("kernels against the emulator", 100, lambda m: bench(m, "check")),
    Part("torch: rates", 60, rates),
    Part("batch 1", 110, models.batch_one),
    Part("fusion", 120, models.fusion),
    Part("prompts", 20, models.prompts),
    Part("greedy tokens", 200, models.greedy),
    Part("cancellation", 60, models.cancellation),
    Part("launch gaps", 40, models.launch_gaps),
    Part("checkpoints in a step", 40, models.checkpoints),
    Part("linear kernels", 110, lambda m: bench(m, "linear")),
    Part("attention kernels", 60, lambda m: bench(m, "attend")),
    Part("prompt kernels", 40, lambda m: bench(m, "prompt")),
    Part("rows that leave", 20, lambda m: bench(m, "compact")),
    Part("NCCL", 40, nccl_tests),
    Part("compute-sanitizer", 110, sanitizer),
    Part("torch: decoding", 100, decode_peer),
    Part("unit tests", 60, unit_tests),
)
