"""Multiply two 8-bit matrices with a scale for every row of A and every column of B.

Teaches what a narrow type costs elsewhere. Tensor cores run e4m3 at twice the rate of bfloat16
from half the bytes, and pay in range: each row and column is scaled into [-448, 448] beforehand,
and the scales multiply the sum once, in the epilogue. B is kept as (N, K), contiguous along K:
Hopper's 8-bit instructions read both operands along K, and a B the other way would be turned
around in registers on every step.

Bottleneck: tensor cores at large sizes, memory twice as soon as in bfloat16.
Trade-off: Hopper sums 8-bit products with fewer bits than float32 has. PROMOTE_K adds that sum to
a true float32 one every so many elements of K: more accurate, more instructions; 0 leaves it to
the hardware. Twice as much of K fits into a stage, so BLOCK_K of 128 is the usual choice.

Needs sm_89 or newer. Older NVIDIA targets (sm_80 among them) have no e4m3 at all, and the
compiler says so; gfx942 has another e4m3 of its own, so there the values are widened to float16
first.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space

from ._tiles import grouped_tile

LARGEST_E4M3 = 448.0


@triton.jit
def matmul_fp8_kernel(
    a_ptr, b_ptr, scale_a_ptr, scale_b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bn, stride_bk, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    PROMOTE_K: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    """Write c = (a @ b.T) * scale_a[:, None] * scale_b[None, :] for one tile of c."""
    tile_m, tile_n = grouped_tile(
        tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M
    )
    offsets_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offsets_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets_k = tl.arange(0, BLOCK_K)
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
        if PROMOTE_K > 0:
            total = tl.dot(a, b, total, max_num_imprecise_acc=PROMOTE_K)
        else:
            total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    scale_a = tl.load(scale_a_ptr + rows)
    scale_b = tl.load(scale_b_ptr + columns)
    total = total * scale_a[:, None] * scale_b[None, :]
    c_ptrs = c_ptr + offsets_m.to(tl.int64)[:, None] * stride_cm + offsets_n[None, :] * stride_cn
    inside = (offsets_m < M)[:, None] & (offsets_n < N)[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)


def quantised(rows, columns, dtype, device, generator):
    """Return a random (rows, columns) tensor of an 8-bit dtype, and its (rows,) scales."""
    values = torch.randn((rows, columns), device=device, generator=generator)
    scale = values.abs().amax(dim=1) / LARGEST_E4M3
    return (values / scale[:, None]).to(dtype), scale


def inputs(problem, device, generator):
    """Return a: (M, K), b: (N, K), their scales: (M,) and (N,) float32, and c: (M, N) bfloat16."""
    dtype = getattr(torch, problem.dtype)
    a, scale_a = quantised(problem.M, problem.K, dtype, device, generator)
    b, scale_b = quantised(problem.N, problem.K, dtype, device, generator)
    c = torch.empty((problem.M, problem.N), device=device, dtype=torch.bfloat16)
    return {"a": a, "b": b, "scale_a": scale_a, "scale_b": scale_b, "c": c}


def launch(args, config):
    a, b, c = args["a"], args["b"], args["c"]
    (M, K), N = a.shape, b.shape[0]
    grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
    matmul_fp8_kernel[grid](
        a, b, args["scale_a"], args["scale_b"], c, M, N, K,
        *a.stride(), *b.stride(), *c.stride(),
        EVEN_K=K % config["BLOCK_K"] == 0,
        **config,
    )  # fmt: skip


def reference(args):
    """Return c, from the values that the 8-bit inputs stand for."""
    product = args["a"] @ args["b"].t()
    return {"c": product * args["scale_a"][:, None] * args["scale_b"][None, :]}


def scaled_mm(args):
    """Return what torch's scaled product gives; it wants K and N as multiples of 16."""
    return torch._scaled_mm(
        args["a"], args["b"].t(),
        scale_a=args["scale_a"][:, None], scale_b=args["scale_b"][None, :],
        out_dtype=torch.bfloat16,
    )  # fmt: skip


matmul_fp8 = KernelDefinition(
    name="matmul_fp8",
    space=Space(
        BLOCK_M=[16, 32, 64, 128, 256],
        BLOCK_N=[32, 64, 128, 256],
        BLOCK_K=[64, 128, 256],
        GROUP_M=[8],
        PROMOTE_K=[0, 128],
        num_warps=[4, 8],
        num_stages=[2, 3, 4, 5],
    )
    .where("PROMOTE_K <= BLOCK_K", reason="a sum is promoted within a block of K")
    .heuristic(
        "BLOCK_M <= max(128, 2 * M)", reason="no large tile is more than half rows of nothing"
    )
    .heuristic(
        "BLOCK_M * BLOCK_N * (1 if PROMOTE_K == 0 else 2) <= 8192 * num_warps",
        reason="the sums alone would take more registers than a thread has",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["c"],
    reference=reference,
    work=lambda problem: {
        "bytes": (problem.M + problem.N) * (problem.K * problem.itemsize + 4)
        + problem.M * problem.N * 2,
        "flops": 2 * problem.M * problem.N * problem.K,
    },
    problems=[
        Problem(M=4096, N=4096, K=4096, dtype="float8_e4m3fn"),
        Problem(M=8192, N=8192, K=8192, dtype="float8_e4m3fn"),
        Problem(M=16, N=8192, K=8192, dtype="float8_e4m3fn"),
        Problem(M=1021, N=4000, K=2000, dtype="float8_e4m3fn"),  # tails on every side
    ],
    default={
        "BLOCK_M": 128,
        "BLOCK_N": 128,
        "BLOCK_K": 128,
        "GROUP_M": 8,
        "PROMOTE_K": 0,
        "num_warps": 8,
        "num_stages": 3,
    },
    replaces=scaled_mm,
)
