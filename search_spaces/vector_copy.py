"""Copy a vector: the smallest kernel that can be tuned, and the ceiling of all the others.

Teaches the shape of every Triton program: each program owns one block, a mask guards the tail,
and offsets are 64-bit because a vector may outgrow 2**31 elements. There is no arithmetic to get
wrong, so a copy that is slow or incorrect accuses the environment and not the kernel; a copy that
runs at the expected bandwidth acquits it.

Bottleneck: memory bandwidth; below a few MiB, the launch itself.
Trade-off: a larger ``BLOCK_SIZE`` keeps more loads in flight per program, until registers limit
how many programs share an SM; ``num_warps`` sets how many elements each thread carries.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two


@triton.jit
def copy_kernel(source_ptr, target_ptr, n, BLOCK_SIZE: tl.constexpr):
    """Write target[i] = source[i] for all i below n."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(target_ptr + offsets, tl.load(source_ptr + offsets, mask=mask), mask=mask)


def inputs(problem, device, generator):
    """Return source and target: (n,) tensors of problem.dtype."""
    dtype = getattr(torch, problem.dtype)
    source = torch.randn(problem.n, device=device, dtype=dtype, generator=generator)
    return {"source": source, "target": torch.empty_like(source)}


def launch(args, config):
    n = args["source"].numel()
    grid = (triton.cdiv(n, config["BLOCK_SIZE"]),)
    copy_kernel[grid](args["source"], args["target"], n, **config)


vector_copy = KernelDefinition(
    name="vector_copy",
    space=Space(
        BLOCK_SIZE=powers_of_two(256, 16384),
        num_warps=[1, 2, 4, 8, 16],
    ).heuristic(
        "BLOCK_SIZE >= 32 * num_warps",
        reason="each thread copies at least one element",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["target"],
    reference=lambda args: {"target": args["source"].clone()},
    work=lambda problem: {"bytes": 2 * problem.n * problem.itemsize, "flops": 0},
    problems=[
        Problem(n=2**28, dtype="float32"),
        Problem(n=2**20, dtype="float32"),
        Problem(n=9_999_991, dtype="float16"),  # a prime: every vectorised access meets a tail
    ],
    default={"BLOCK_SIZE": 1024, "num_warps": 4},
    replaces=lambda args: args["target"].copy_(args["source"]),
)
