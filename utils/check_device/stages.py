"""The three calls on a machine with a GPU: which parts they run, in order.

A part is a name, the seconds that it may take, and a function of
machine.Machine. What it finds are results (machine.add()), as they come.
"""
import dataclasses
import typing

from . import models, parts


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    seconds: float  # at most; few parts come near to it
    run: typing.Callable


@dataclasses.dataclass(frozen=True)
class Stage:
    seconds: float  # of all parts together
    parts: tuple


STAGES = {
    # Whether anything runs, and if not, what; then five figures.
    1: Stage(200, (
        Part("device", 25, parts.device),
        Part("probe", 20, parts.probe),
        Part("kernel cases", 20, parts.kernel_cases),
        Part("node bisect", 20, parts.node_bisect),
        Part("sanitizers", 35, parts.sanitizers),
        Part("figures 1b", 30, parts.figures("llama-1b-bf16")),
        Part("figures 8b", 45, parts.figures("llama-8b-bf16")),
        Part("torch peer", 20, parts.torch_peer("llama-1b-bf16")),
    )),
    # What was mended; other formats; rows that leave.
    2: Stage(210, (
        Part("device", 25, parts.device),
        Part("kernel cases", 20, parts.kernel_cases),
        Part("node bisect", 20, parts.node_bisect),
        Part("figures q4_0", 20, parts.figures("llama-8b-q4_0")),
        Part("figures q4_k", 20, parts.figures("llama-8b-q4_k")),
        Part("figures e4m3", 20, parts.figures("llama-8b-e4m3")),
        Part("logits of the CPU", 45, models.logits),
        Part("cancellation", 20, models.cancellation),
        Part("checkpoints in a step", 20, models.checkpoints),
        Part("rows that leave", 5, parts.bench("compact")),
        Part("ncu", 30, parts.counters),
    )),
    # The record.
    3: Stage(400, (
        Part("device", 25, parts.device),
        Part("torch rates", 20, parts.torch_rates),
        Part("figures 1b", 30, parts.figures("llama-1b-bf16")),
        Part("figures 8b", 45, parts.figures("llama-8b-bf16")),
        Part("figures q4_0", 20, parts.figures("llama-8b-q4_0")),
        Part("figures e4m3", 20, parts.figures("llama-8b-e4m3")),
        Part("fusion", 60, models.fusion),
        Part("linear kernels", 60, parts.bench("linear")),
        Part("attention kernels", 30, parts.bench("attend")),
        Part("prompt kernels", 30, parts.bench("prompt")),
        Part("torch peer", 45, parts.torch_peer("llama-1b-bf16",
                                                "llama-8b-bf16")),
        Part("NCCL", 20, parts.nccl),
        Part("unit tests", 60, parts.unit_tests),
    )),
}
