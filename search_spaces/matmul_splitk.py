"""Multiply skinny matrices by splitting K: work for every SM when the output is small.

Teaches where parallelism comes from. With 16 rows of tokens, the output has few tiles and the
weights are long: 64 programs on 132 SMs leave half of the memory system idle. SPLIT_K programs
share each tile, each sums a slice of K, and the one that finishes last adds up the slices. Adding
in slice order, out of a workspace, gives the same bits on every run; atomic additions to the
output would not, and would need it zeroed first.

Bottleneck: memory bandwidth, for B is read once and used M times; below 30 microseconds the
launch counts.
Trade-off: more slices give more loads in flight and more partial sums to write and read again,
SPLIT_K * M * N * 4 bytes each way. SPLIT_K = 1 stores at once and touches no workspace. The best
value follows the number of SMs, and so overfits to it.

The counters say how many slices of each tile are done. The last program leaves its counter at
zero, so they are zeroed once, when they are made.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space
from autotune_lab.definitions import DEFAULT_TOLERANCES

from . import matmul
from ._tiles import grouped_tile


@triton.jit
def matmul_splitk_kernel(
    a_ptr, b_ptr, c_ptr, workspace_ptr, counters_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    SPLIT_K: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Write c = a @ b; SPLIT_K programs sum every SPLIT_K-th block of K for each tile of c."""
    tile = tl.program_id(0)
    part = tl.program_id(1)
    tiles = tl.num_programs(0)
    tile_m, tile_n = grouped_tile(tile, tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)
    offsets_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offsets_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets_k = part * BLOCK_K + tl.arange(0, BLOCK_K)
    rows = (offsets_m % M).to(tl.int64)
    columns = (offsets_n % N).to(tl.int64)
    a_ptrs = a_ptr + rows[:, None] * stride_am + offsets_k[None, :] * stride_ak
    b_ptrs = b_ptr + offsets_k.to(tl.int64)[:, None] * stride_bk + columns[None, :] * stride_bn

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K * SPLIT_K):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            inside = start + offsets_k < K
            a = tl.load(a_ptrs, mask=inside[None, :], other=0.0)
            b = tl.load(b_ptrs, mask=inside[:, None], other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
        a_ptrs += BLOCK_K * SPLIT_K * stride_ak
        b_ptrs += BLOCK_K * SPLIT_K * stride_bk

    c_ptrs = c_ptr + offsets_m.to(tl.int64)[:, None] * stride_cm + offsets_n[None, :] * stride_cn
    inside = (offsets_m < M)[:, None] & (offsets_n < N)[None, :]
    if SPLIT_K == 1:
        tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)
    else:
        cells = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
        slice_elements = tiles.to(tl.int64) * (BLOCK_M * BLOCK_N)
        partials = workspace_ptr + tile.to(tl.int64) * (BLOCK_M * BLOCK_N) + cells
        tl.store(partials + part * slice_elements, total)
        # All threads have stored before one of them counts; its release shows the stores to whoever
        # acquires the counter after it.
        tl.debug_barrier()
        done = tl.atomic_add(counters_ptr + tile, 1, sem="acq_rel", scope="gpu")
        if done == SPLIT_K - 1:
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for index in range(SPLIT_K):
                # .cg goes to L2, where other SMs' stores are: L1 may not know of them.
                total += tl.load(partials + index * slice_elements, cache_modifier=".cg")
            tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)
            tl.store(counters_ptr + tile, 0)


def inputs(problem, device, generator):
    """Return a: (M, K), b: (K, N), c: (M, N), contiguous, and counters: one int32 for each tile."""
    args = matmul.inputs(problem, device, generator)
    smallest_tile = 16 * 32
    tiles = (problem.M + 15) * (problem.N + 31) // smallest_tile + 1
    args["counters"] = torch.zeros(tiles, device=device, dtype=torch.int32)
    return args


def launch(args, config):
    a, b, c = args["a"], args["b"], args["c"]
    (M, K), N = a.shape, b.shape[1]
    BLOCK_M, BLOCK_N, BLOCK_K = (config[f"BLOCK_{axis}"] for axis in "MNK")
    SPLIT_K = config["SPLIT_K"]
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    partials = SPLIT_K * tiles * BLOCK_M * BLOCK_N if SPLIT_K > 1 else 16
    workspace = torch.empty(partials, device=a.device, dtype=torch.float32)
    matmul_splitk_kernel[(tiles, SPLIT_K)](
        a, b, c, workspace, args["counters"], M, N, K, *a.stride(), *b.stride(), *c.stride(),
        EVEN_K=K % (BLOCK_K * SPLIT_K) == 0,
        PRECISION="tf32" if a.dtype == torch.float32 else None,
        **config,
    )  # fmt: skip


matmul_splitk = KernelDefinition(
    name="matmul_splitk",
    space=Space(
        BLOCK_M=[16, 32, 64, 128],
        BLOCK_N=[32, 64, 128, 256],
        BLOCK_K=[64, 128, 256],
        GROUP_M=[8],
        SPLIT_K=[1, 2, 3, 4, 6, 8, 16],
        num_warps=[2, 4, 8],
        num_stages=[2, 3, 4, 5],
    )
    .heuristic(
        "BLOCK_M < 2 * M or BLOCK_M == 16", reason="no tile is more than half rows of nothing"
    )
    .where("BLOCK_K * SPLIT_K <= K or SPLIT_K == 1", reason="every slice of K has a block to sum")
    .heuristic(
        "BLOCK_M * BLOCK_N <= 4096 * num_warps",
        reason="the sum alone would take more than 128 registers of a thread",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["c"],
    reference=lambda args: {"c": args["a"] @ args["b"]},
    work=matmul.work,
    problems=[
        Problem(M=16, N=8192, K=8192, dtype="bfloat16"),
        Problem(M=1, N=4096, K=14336, dtype="bfloat16"),  # one token against a down projection
        Problem(M=256, N=8192, K=4096, dtype="bfloat16"),
        Problem(M=17, N=1021, K=4099, dtype="float16"),  # primes
    ],
    default={
        "BLOCK_M": 16,
        "BLOCK_N": 64,
        "BLOCK_K": 128,
        "GROUP_M": 8,
        "SPLIT_K": 4,
        "num_warps": 4,
        "num_stages": 3,
    },
    tolerances={"float32": DEFAULT_TOLERANCES["tfloat32"]},
    replaces=lambda args: torch.matmul(args["a"], args["b"], out=args["c"]),
)
