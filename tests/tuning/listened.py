"""A user's program with autotuned kernels that knows nothing of the lab; for the interpreter.

Its timer is scripted, because Triton's own asks for a GPU.
"""

import sys

import torch
import triton
import triton.language as tl


def timer(call, quantiles):
    """Return half a ms for each element of a program, and run the kernel as Triton's timer does."""
    call()
    TIMES.append(0.5 * (len(TIMES) + 1))
    return [TIMES[-1], 0.0, 9.0] if len(TIMES) != 2 else [float("inf")] * 3


TIMES: list[float] = []


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (64, 128, 256)],
    key=["n", "get"],
    do_bench=timer,
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def double_kernel(x_ptr, y_ptr, n, get, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=inside), mask=inside)


def double(x):
    """Return twice x."""
    y = torch.empty_like(x, dtype=torch.float32)
    double_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel(), 7)
    return y


def main():
    """Double three vectors, two of them alike."""
    for n in (100, 300, 100):
        x = torch.randn(n)
        assert torch.equal(double(x), 2 * x)
    print("doubled", *sys.argv[1:])


if __name__ == "__main__":
    main()
