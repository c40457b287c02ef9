"""Copy a matrix whose rows need not touch, or whose columns are what lies in memory.

Teaches strides. The kernel takes both strides of both matrices and works for every view; what
differs is which axis the lanes of a warp walk along. The launch looks at the strides and hands
the kernel the axes with the contiguous one last, so that a column-major matrix is copied as the
row-major one it is in memory. Without that swap each lane would touch a cache line of its own,
and the copy of a column-major matrix would run at about an eighth of the bandwidth.

Bottleneck: memory bandwidth, provided that lanes and memory agree.
Trade-off: wide tiles for long contiguous runs against tall ones for narrow matrices. A row of 781
elements leaves a tile of 1024 a quarter empty; a tile of 64 wastes less and repeats its index
arithmetic more.
"""

import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two

from ._strided import contiguous_last, empty_strided_like, matrix, nbytes


@triton.jit
def copy_2d_kernel(
    source_ptr, target_ptr, M, N,
    stride_sm, stride_sn, stride_tm, stride_tn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Write target[m, n] = source[m, n] for one BLOCK_M x BLOCK_N tile."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    m = ((tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    n = ((tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    inside = (m < M) & (n < N)
    m, n = m.to(tl.int64), n.to(tl.int64)
    values = tl.load(source_ptr + m * stride_sm + n * stride_sn, mask=inside)
    tl.store(target_ptr + m * stride_tm + n * stride_tn, values, mask=inside)


def inputs(problem, device, generator):
    """Return source and target: (M, N) tensors of problem.dtype, both in the problem's layout."""
    source = matrix(problem, device, generator)
    return {"source": source, "target": empty_strided_like(source)}


def launch(args, config):
    target, source = contiguous_last(args["target"], args["source"])
    M, N = target.shape
    grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
    copy_2d_kernel[grid](source, target, M, N, *source.stride(), *target.stride(), **config)


copy_2d = KernelDefinition(
    name="copy_2d",
    space=Space(
        BLOCK_M=powers_of_two(1, 64),
        BLOCK_N=powers_of_two(32, 2048),
        num_warps=[1, 2, 4, 8],
    ).heuristic(
        "32 * num_warps <= BLOCK_M * BLOCK_N <= 2048 * num_warps",
        reason="each thread copies between 1 and 64 elements",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["target"],
    reference=lambda args: {"target": args["source"].clone()},
    work=lambda problem: {"bytes": 2 * nbytes(problem), "flops": 0},
    problems=[
        Problem(M=16384, N=8192, dtype="float32", layout="contiguous"),
        Problem(M=8192, N=8192, dtype="bfloat16", layout="padded"),
        Problem(M=8192, N=8192, dtype="float32", layout="column"),
        Problem(M=1823, N=781, dtype="float16", layout="contiguous"),  # no 16-byte access fits
    ],
    default={"BLOCK_M": 16, "BLOCK_N": 128, "num_warps": 4},
    replaces=lambda args: args["target"].copy_(args["source"]),
)
