"""Multiply two matrices, tile by tile: the kernel that autotuners were invented for.

Teaches tiling. Each program owns a BLOCK_M x BLOCK_N tile of the output, walks along K in steps
of BLOCK_K, and keeps its sum in float32 registers. Every element loaded is used BLOCK_M or
BLOCK_N times, so larger tiles buy arithmetic with registers. ``num_stages`` loads ahead through
shared memory while the tensor cores work, and GROUP_M orders the tiles so that neighbours find
their operands in L2.

Bottleneck: tensor cores for large squares, memory for skinny shapes (M=16 reads all of B for
little arithmetic), and the number of SMs in between: 132 SMs and 128 tiles leave four idle, 136
cost a wave.
Trade-off: tile area against tiles in flight; stages against shared memory. A seventh of the space
asks for more shared memory than an H100 or H200 has: the compiler knows, and nothing has to be
launched.

Masks cost little: rows past M and columns past N wrap around, so their loads stay in bounds and
only the store is masked; K is masked only where it is no multiple of BLOCK_K (EVEN_K is false).
float32 inputs are multiplied as tf32 (10 bits of mantissa), as torch does when allowed to.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space
from autotune_lab.definitions import DEFAULT_TOLERANCES

from ._tiles import grouped_tile


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Write c = a @ b for one BLOCK_M x BLOCK_N tile of c."""
    tile_m, tile_n = grouped_tile(
        tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M
    )
    offsets_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offsets_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets_k = tl.arange(0, BLOCK_K)
    # 64-bit from here: M * stride_am passes 2**31 well before memory is full.
    rows = (offsets_m % M).to(tl.int64)
    columns = (offsets_n % N).to(tl.int64)
    a_ptrs = a_ptr + rows[:, None] * stride_am + offsets_k[None, :] * stride_ak
    b_ptrs = b_ptr + offsets_k[:, None] * stride_bk + columns[None, :] * stride_bn

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            inside = start + offsets_k < K
            a = tl.load(a_ptrs, mask=inside[None, :], other=0.0)
            b = tl.load(b_ptrs, mask=inside[:, None], other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + offsets_m.to(tl.int64)[:, None] * stride_cm + offsets_n[None, :] * stride_cn
    inside = (offsets_m < M)[:, None] & (offsets_n < N)[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)


def inputs(problem, device, generator):
    """Return a: (M, K), b: (K, N) and c: (M, N), contiguous, of problem.dtype."""
    M, N, K = problem.M, problem.N, problem.K
    dtype = getattr(torch, problem.dtype)
    return {
        "a": torch.randn((M, K), device=device, dtype=dtype, generator=generator),
        "b": torch.randn((K, N), device=device, dtype=dtype, generator=generator),
        "c": torch.empty((M, N), device=device, dtype=dtype),
    }


def launch(args, config):
    a, b, c = args["a"], args["b"], args["c"]
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
    matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        EVEN_K=K % config["BLOCK_K"] == 0,
        PRECISION="tf32" if a.dtype == torch.float32 else None,
        **config,
    )  # fmt: skip


def work(problem):
    """Read A and B once, write C once; a multiplication and an addition per (m, n, k)."""
    M, N, K = problem.M, problem.N, problem.K
    return {"bytes": (M * K + K * N + M * N) * problem.itemsize, "flops": 2 * M * N * K}


matmul = KernelDefinition(
    name="matmul",
    space=Space(
        BLOCK_M=[32, 64, 128, 256],
        BLOCK_N=[32, 64, 128, 256],
        BLOCK_K=[32, 64, 128],
        GROUP_M=[8],
        num_warps=[4, 8],
        num_stages=[2, 3, 4, 5],
    ),
    inputs=inputs,
    launch=launch,
    outputs=["c"],
    reference=lambda args: {"c": args["a"] @ args["b"]},
    work=work,
    problems=[
        Problem(M=4096, N=4096, K=4096, dtype="bfloat16"),
        Problem(M=8192, N=8192, K=8192, dtype="bfloat16"),
        Problem(M=16, N=8192, K=8192, dtype="bfloat16"),
        Problem(M=1000, N=4000, K=2000, dtype="bfloat16"),
        Problem(M=256, N=8192, K=4096, dtype="bfloat16"),
        Problem(M=1021, N=1021, K=1021, dtype="float16"),  # a prime: no side fits any tile
        Problem(M=2048, N=2048, K=2048, dtype="float32"),
    ],
    default={
        "BLOCK_M": 128,
        "BLOCK_N": 128,
        "BLOCK_K": 64,
        "GROUP_M": 8,
        "num_warps": 8,
        "num_stages": 3,
    },
    tolerances={"float32": DEFAULT_TOLERANCES["tfloat32"]},
    replaces=lambda args: torch.matmul(args["a"], args["b"], out=args["c"]),
)
