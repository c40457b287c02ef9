"""Host time of one launch with 12 arguments, by four ways of launching. Needs a GPU.

    python benchmarks/dispatch.py [--launches 2000] [--rounds 15]

The ways take turns, round by round, so that a slow moment of the machine hits them all; each
number is the median over rounds of the time to enqueue, per launch. The kernel does next to
nothing, and the queue is emptied before each round, so the host is never kept waiting by the GPU.
"""

import argparse
import statistics
import time

import torch
import triton
import triton.language as tl

from autotune_lab import tuned
from autotune_lab.runtime import Table

CONFIG = {"BLOCK_M": 16, "BLOCK_N": 16, "num_warps": 4}
QUEUE = 200  # launches that any driver takes without making the host wait


@triton.jit
def twelve(
    a_ptr, b_ptr, c_ptr, M, N, K,  # noqa: ARG001
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,  # noqa: ARG001
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Copy one tile of a to c: real work, so that nothing is optimised away, but little."""
    m, n = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tile = tl.load(a_ptr + m[:, None] * stride_am + n[None, :] * stride_ak, mask=inside)
    tl.store(c_ptr + m[:, None] * stride_cm + n[None, :] * stride_cn, tile, mask=inside)


def grid(meta):
    """Count tiles without ``triton.cdiv``, which costs 3 us a call and would hide the rest."""
    return (-(-meta["M"] // meta["BLOCK_M"]) * -(-meta["N"] // meta["BLOCK_N"]),)


def ways():
    """Return way -> function that launches once; each is called once here, to compile."""
    a, b, c = (torch.randn(16, 16, device="cuda", dtype=torch.float16) for _ in range(3))
    arguments = (a, b, c, 16, 16, 16, *a.stride(), *b.stride(), *c.stride())
    constants = {"BLOCK_M": CONFIG["BLOCK_M"], "BLOCK_N": CONFIG["BLOCK_N"]}
    made = tuned("twelve", key=["M", "N", "K"], table=Table.empty("none"), default=CONFIG,
                 on_bad_table="default")(twelve)  # fmt: skip
    autotuned = triton.autotune([triton.Config(constants, num_warps=4)], key=["M", "N", "K"])(
        twelve
    )
    compiled = twelve[grid](*arguments, **CONFIG)
    alone = compiled[(1, 1, 1)]
    values = (*arguments, *constants.values())
    found = {
        "direct launch": lambda: twelve[grid](*arguments, **CONFIG),
        "tuned": lambda: made[grid](*arguments),
        "triton.autotune": lambda: autotuned[grid](*arguments),
        "compiled kernel alone": lambda: alone(*values),
    }
    for launch in found.values():
        launch()
    return found


def one_round(launch, launches):
    """Return us per launch, over batches that fit the queue."""
    spent = 0.0
    for _ in range(max(launches // QUEUE, 1)):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(QUEUE):
            launch()
        spent += time.perf_counter() - begin
    return spent / (max(launches // QUEUE, 1) * QUEUE) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    found = ways()
    times_us = {name: [] for name in found}
    for _ in range(options.rounds + 1):
        for name, launch in found.items():
            times_us[name].append(one_round(launch, options.launches))
    median_us = {name: statistics.median(times[1:]) for name, times in times_us.items()}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    print(f"{'way':24}{'us/launch':>10}{'x direct':>10}{'x autotune':>12}{'spread':>9}")
    for name, time_us in median_us.items():
        inner = sorted(times_us[name][1:])
        spread = (inner[-1 - len(inner) // 4] - inner[len(inner) // 4]) / time_us
        to_direct = time_us / median_us["direct launch"]
        to_autotune = time_us / median_us["triton.autotune"]
        print(f"{name:24}{time_us:10.2f}{to_direct:10.2f}{to_autotune:12.2f}{spread:9.1%}")
    ratio = median_us["tuned"] / median_us["triton.autotune"]
    is_quick = median_us["tuned"] <= median_us["direct launch"] and ratio <= 0.5
    print(f"tuned <= direct and tuned <= 0.5 x autotune: {'yes' if is_quick else 'NO'}")
    return 0 if is_quick else 1


if __name__ == "__main__":
    raise SystemExit(main())
