"""Copy bandwidth and bf16 matrix rate by PyTorch, as JSON lines."""
import json
import statistics

import torch

ROUNDS = 7
COPY_BYTES = 4 << 30
SIDE = 8192


def seconds(work, repeats):
    """The median of some rounds of `repeats` each, by the device's events."""
    times = []
    for number in range(ROUNDS + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            work()
        end.record()
        end.synchronize()
        if number > 0:
            times.append(start.elapsed_time(end) / 1e3 / repeats)
    return statistics.median(times)


def copy_rate():
    """As a line: bytes read and bytes written both count."""
    source = torch.zeros(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    each = seconds(lambda: target.copy_(source), 5)
    return {"what": "copy", "us": each * 1e6,
            "gigabytesPerSecond": 2 * COPY_BYTES / each / 1e9}


def matrix_rate():
    """As a line, of a large product."""
    # Random numbers: zeros take less power and are faster.
    a, b = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    out = torch.empty_like(a)
    each = seconds(lambda: torch.mm(a, b, out=out), 10)
    return {"what": f"bf16 product of {SIDE} squared", "us": each * 1e6,
            "teraflops": 2 * SIDE ** 3 / each / 1e12}


def main():
    for measure in (copy_rate, matrix_rate):
        print(json.dumps(measure()), flush=True)


if __name__ == "__main__":
    main()
