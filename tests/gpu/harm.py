"""A copy kernel that on a real GPU strays out of memory, or spins, at some values of MODE."""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space

SPIN_S = 60


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def stray_kernel(out_ptr):
    far = tl.full((), 1 << 38, tl.int64)  # 2**40 bytes
    tl.store(out_ptr + far, 1.0)


@triton.jit
def now_ns():
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def spin_kernel(out_ptr, duration_ns):
    """Spin for a bounded time, so that the card is never left busy."""
    start = now_ns()
    elapsed = now_ns() - start
    while elapsed < duration_ns:
        elapsed = now_ns() - start
    tl.store(out_ptr, elapsed.to(tl.float32))


def inputs(problem, device, generator):
    x = torch.randn(problem.n, device=device, generator=generator)
    return {"x": x, "out": torch.empty_like(x)}


def launch(args, config):
    x, out = args["x"], args["out"]
    match config["MODE"]:
        case "stray":
            stray_kernel[(1,)](out)
        case "spin":
            spin_kernel[(1,)](out, SPIN_S * 10**9)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, config["BLOCK"]),)](x, out, n, BLOCK=config["BLOCK"])


harm = KernelDefinition(
    name="harm",
    space=Space(BLOCK=[256, 512, 1024, 2048, 4096], MODE=["good", "stray", "spin"]),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": args["x"]},
    problems=[Problem(n=2**24, dtype="float32")],
)
