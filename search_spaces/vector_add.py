"""Add two vectors: one operation for every twelve bytes moved.

Teaches that arithmetic can be free. The kernel is a copy with a second stream to read and an
addition that hides behind the memory system; on any GPU it should run at the copy's bandwidth,
and the distance from there is the room that tuning has.

Bottleneck: memory bandwidth; at 2**20 elements the arrays fit in L2 and the launch dominates, so
many configs tie and the honest answer is a plateau.
Trade-off: as for the copy, bytes in flight (``BLOCK_SIZE`` per ``num_warps``) against programs
per SM. Blocks that are small for their warps waste the launch, blocks that are large for them
spill.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    """Write out[i] = x[i] + y[i] for all i below n."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def inputs(problem, device, generator):
    """Return x, y and out: (n,) tensors of problem.dtype."""
    dtype = getattr(torch, problem.dtype)
    x = torch.randn(problem.n, device=device, dtype=dtype, generator=generator)
    y = torch.randn(problem.n, device=device, dtype=dtype, generator=generator)
    return {"x": x, "y": y, "out": torch.empty_like(x)}


def launch(args, config):
    n = args["x"].numel()
    grid = (triton.cdiv(n, config["BLOCK_SIZE"]),)
    add_kernel[grid](args["x"], args["y"], args["out"], n, **config)


vector_add = KernelDefinition(
    name="vector_add",
    space=Space(
        BLOCK_SIZE=powers_of_two(64, 16384),
        num_warps=[1, 2, 4, 8, 16],
    ).heuristic(
        "BLOCK_SIZE >= 32 * num_warps",
        reason="each thread adds at least one pair",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": args["x"] + args["y"]},
    work=lambda problem: {"bytes": 3 * problem.n * problem.itemsize, "flops": problem.n},
    problems=[
        Problem(n=2**20, dtype="float32"),
        Problem(n=2**28, dtype="float32"),
        Problem(n=49_979_687, dtype="float32"),  # a prime: every vectorised access meets a tail
    ],
    default={"BLOCK_SIZE": 1024, "num_warps": 4},
    replaces=lambda args: torch.add(args["x"], args["y"], out=args["out"]),
)
