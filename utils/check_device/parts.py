"""Parts that run the carried program, a tool over it, or PyTorch."""
import importlib.util
import os
import pathlib
import re
import sys
import threading
import time

from .machine import Failure, NotHere

HERE = pathlib.Path(__file__).resolve().parent
# Ten small cases, for tools that make all of them slow.
SANITIZED = ("LinearKernelTest.ARowIsTheSameInAnyBatch/bf16",
             "LinearKernelTest.PartsOfASumMayEndInAnyOrder/q4_0",
             "LinearTileKernelTest.ARowIsTheSameInAPrompt/q4_k",
             "AttentionKernelTest.ARowIsTheSameInAnyBatch/f16",
             "AttentionKernelTest.TilesHaveTheBitsOfSpans/e4m3",
             "AttentionKernelTest.MirrorsStoreARowTwice/bf16",
             "EmbedTest.RowsAreTheTables/q6_k",
             "CompactTest.CheckpointsFollowOneAnother",
             "SampleTest.CandidatesAreTheGreatest",
             "PageCopyTest.CopiesAreMadeInOrderInEveryLayer")
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")
# Kernels whose counters are read: what a step of few rows and a prompt's are.
COUNTED = ("sluice_linear_bf16_8", "sluice_linear_tile_bf16",
           "sluice_attend_f16_128")
COUNTERS = ("gpu__time_duration.sum", "dram__bytes.sum",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
            "sm__warps_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_tensor.sum")


def missing(manifest):
    """What the carried program wants and this machine has not."""
    flags = re.search(r"^flags\s*:(.*)$",
                      pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    have = set(flags[1].split() if flags else ())
    yield from (f"the CPU has no {each}" for each in manifest.get("flags", ())
                if each not in have)
    glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    wanted = manifest.get("glibc", "0")
    if [int(n) for n in glibc.split(".")] < [int(n) for n in wanted.split(".")]:
        yield f"glibc is {glibc}, and {wanted} is needed"


def device(machine):
    """The device, three empty kernels, and the rate of a copy, in one process,
    as each has to wait for the device first; then the driver."""
    for each in missing(machine.manifest()):
        machine.add(what="this machine", holds=False, why=each)
    machine.check("device")
    try:
        machine.add(what="driver", said=machine.run(
            machine.tool("nvidia-smi"), "--query-gpu=driver_version,name",
            "--format=csv,noheader", seconds=5).strip())
    except (NotHere, Failure, TimeoutError):
        pass


def probe(machine):
    machine.check("probe")


def at_once(calls):
    """Makes all calls side by side; their failures are one."""
    failures = []

    def attempt(call):
        try:
            call()
        except (Failure, TimeoutError) as failure:
            failures.append(str(failure))
        except Exception as mistake:  # of this script, or of the system
            failures.append(f"{type(mistake).__name__}: {mistake}")
    threads = [threading.Thread(target=attempt, args=(call,), daemon=True)
               for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise Failure("; ".join(failures))


def kernel_cases(machine):
    """All of them, shared out over processes: each launch is emulated as well,
    which takes most of the time. In the emulator, where SluiceCudaTests runs
    them, some."""
    some = ["--gtest_filter=" + ":".join(SANITIZED)] \
        if machine.manifest().get("shape") else []
    machine.program()  # or there is nothing to share out
    shards = min(8, os.cpu_count() or 1)
    before = len(machine.results.lines)
    at_once([lambda shard=shard: machine.check(
        "cases", "--json", *some, environment={
            "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)})
        for shard in range(shards)])
    lines = machine.results.lines[before:]
    names = [line["case"] for line in lines if "case" in line and "holds" in line]
    counted = sum(line.get("cases", 0) for line in lines)
    if not names or len(set(names)) != counted:
        raise Failure(f"{len(set(names))} cases have ended of {counted}")


def bisected(machine):
    """The carried models that the emulator has, too."""
    return machine.manifest().get("emulated", [])


def node_bisect(machine):
    if not bisected(machine):
        raise NotHere("no model was carried that the emulator has as well")
    # Steps of such models take milliseconds.
    patience = machine.patience(3)
    for name in bisected(machine):
        try:
            machine.check("bisect", name, options=patience)
        except Failure as failure:
            # The error of a whole graph does not say at which kernel it stood.
            if "whole graph: " not in str(failure):
                raise
            machine.check("bisect", name, options=(*patience, "marks"))
            raise Failure(f"{failure}; with marks all is well") from None


def bench(part):
    return lambda machine: machine.check(part)


def figures(name):
    return lambda machine: machine.check("figures", name)


def sanitized(tool):
    """What a tool looks at: the small cases, each array with memory of its own,
    else nobody sees who reads beside. Their arrays are copied to the device
    whole: who reads what nobody has written is seen in a model's steps."""
    if tool == "initcheck":
        return ["model", "tiny-bf16", "generate", "--device", "cuda",
                "--random-weights", "1", "--tokens", "3,10,17,24,31",
                "-n", "4", "--ignore-eos"]
    return ["cases", "--apart", "--gtest_filter=" + ":".join(SANITIZED)]


def sanitize(machine, tool):
    """One of compute-sanitizer's tools."""
    try:
        out = machine.run(machine.tool("compute-sanitizer"), "--tool", tool,
                          "--error-exitcode", "3", machine.program(),
                          *sanitized(tool))
        summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", out)
        machine.add(what=tool, holds=True,
                    said=summary[-1] if summary else "no summary")
    except (Failure, TimeoutError) as failure:
        machine.add(what=tool, holds=False, why=str(failure))
        raise Failure(f"{tool}: {failure}") from None


def sanitizers(machine):
    """All four at once: each of them keeps the device busy for a part of the
    time."""
    machine.tool("compute-sanitizer")
    at_once([lambda tool=tool: sanitize(machine, tool) for tool in SANITIZERS])


def counters(machine):
    """Hardware counters of three kernels, by Nsight Compute. The clocks are
    left as they are."""
    failures = []
    for kernel in COUNTED:
        try:
            count(machine, kernel)
        except (Failure, TimeoutError) as failure:
            failures.append(f"{kernel}: {failure}")
    if failures:
        raise Failure("; ".join(failures))


def count(machine, kernel):
    """The counters of one kernel, whose bench ends when they are known."""
    part = "attend" if "attend" in kernel else \
        "prompt" if "tile" in kernel else "linear"
    out = machine.run(
        machine.tool("ncu"), "--clock-control", "none", "--csv",
        "--kernel-name", kernel, "--launch-count", "3", "--kill", "yes",
        "--metrics", ",".join(COUNTERS), machine.program(), part, seconds=12)
    for name in COUNTERS:
        found = re.findall(rf'"{re.escape(name)}","([^"]*)","([^"]*)"', out)
        if found:
            unit, value = found[-1]
            machine.add(what=kernel, counter=name, value=value, unit=unit)


def torch_script(machine, name, *arguments):
    """A script of this folder under the machine's own Python; its lines are
    results as they come."""
    try:
        machine.run(sys.executable, "-u", HERE / name, *arguments, keep=True)
    except Failure as failure:
        module = re.search(r"No module named .*", failure.args[0])
        if module:
            raise NotHere(module[0]) from None
        raise


def torch_rates(machine):
    torch_script(machine, "torch_rates.py")


def torch_peer(*names):
    """PyTorch's own decoding of the same shapes, in the seconds that are left."""
    return lambda machine: torch_script(
        machine, "torch_decode.py", machine.deadline - time.monotonic(), *names)


def nccl_library():
    """PyTorch brings one, which the loader does not see."""
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations if package else ():
        library = pathlib.Path(folder) / "nccl/lib/libnccl.so.2"
        if library.is_file():
            return {"SLUICE_NCCL_LIBRARY": str(library)}
    return {}


def nccl(machine):
    """The conformance suite over the real library: one rank, or two."""
    out = machine.run(machine.program(), "tests",
                      "--gtest_filter=NcclReal*:NcclLibrary*",
                      environment=nccl_library())
    for line in out.splitlines():
        if "Skipped" in line or "PASSED" in line or "NCCL:" in line:
            machine.add(said=line.strip())


def unit_tests(machine):
    """Over the emulator: whether what was carried is what was tested."""
    out = machine.run(machine.program(), "tests", "--gtest_brief=1")
    for line in out.splitlines():
        if "PASSED" in line or "SKIPPED" in line:
            machine.add(said=line.strip())
