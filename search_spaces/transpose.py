"""Transpose a matrix: the copy whose reads and writes can't both follow the memory.

Teaches what shared memory is for. Reading a row-major matrix by rows and writing it by columns
would scatter every store. A tile goes in by rows, is turned around on chip, and comes out by rows
of the transposed matrix; ``tl.trans`` is all the code that needs, and the compiler puts the
exchange between threads into shared memory, swizzled so that banks do not collide.

Bottleneck: memory bandwidth, if both sides of a tile span whole cache lines. DRAM prefers longer
runs than a cache line, so a transpose stays below a copy.
Trade-off: a square tile serves both sides; a larger one makes longer runs and costs shared memory
and registers, so fewer tiles are in flight. With 4-byte elements, 32 on a side fill a 128-byte
line.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two

from ._strided import matrix, nbytes


@triton.jit
def transpose_kernel(
    source_ptr, target_ptr, M, N,
    stride_sm, stride_sn, stride_tn, stride_tm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Write target[n, m] = source[m, n] for one BLOCK_M x BLOCK_N tile of the source."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    first_m = (tile // tiles_n).to(tl.int64) * BLOCK_M
    first_n = (tile % tiles_n).to(tl.int64) * BLOCK_N
    m = first_m + tl.arange(0, BLOCK_M)
    n = first_n + tl.arange(0, BLOCK_N)
    inside = (m < M)[:, None] & (n < N)[None, :]
    values = tl.load(source_ptr + m[:, None] * stride_sm + n[None, :] * stride_sn, mask=inside)
    turned = (n < N)[:, None] & (m < M)[None, :]
    targets = target_ptr + n[:, None] * stride_tn + m[None, :] * stride_tm
    tl.store(targets, tl.trans(values), mask=turned)


def inputs(problem, device, generator):
    """Return source: (M, N), in the problem's layout, and target: (N, M), contiguous."""
    source = matrix(problem, device, generator)
    target = torch.empty((problem.N, problem.M), device=device, dtype=source.dtype)
    return {"source": source, "target": target}


def launch(args, config):
    source, target = args["source"], args["target"]
    M, N = source.shape
    grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
    transpose_kernel[grid](source, target, M, N, *source.stride(), *target.stride(), **config)


transpose = KernelDefinition(
    name="transpose",
    space=Space(
        BLOCK_M=powers_of_two(16, 256),
        BLOCK_N=powers_of_two(16, 256),
        num_warps=[1, 2, 4, 8, 16],
    ).heuristic(
        "32 * num_warps <= BLOCK_M * BLOCK_N <= 2048 * num_warps",
        reason="each thread moves between 1 and 64 elements",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["target"],
    reference=lambda args: {"target": args["source"].t().clone()},
    work=lambda problem: {"bytes": 2 * nbytes(problem), "flops": 0},
    problems=[
        Problem(M=16384, N=8192, dtype="float32", layout="contiguous"),
        Problem(M=8192, N=8192, dtype="bfloat16", layout="contiguous"),
        Problem(M=1823, N=781, dtype="float32", layout="padded"),
    ],
    default={"BLOCK_M": 32, "BLOCK_N": 32, "num_warps": 4},
    replaces=lambda args: args["target"].copy_(args["source"].t()),
)
