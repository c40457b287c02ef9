"""Add a bias to every row of a matrix: a broadcast that should cost nothing.

Teaches reuse. A tile loads BLOCK_N values of the bias once and adds them to BLOCK_M rows without
ever expanding them in memory; the next tile finds them in the cache. As in ``copy_2d``, the
launch puts the contiguous axis last. For a column-major matrix that turns the bias from one value
per column into one per row of what the kernel sees, which BIAS_AXIS tells it: layout is the
launch's business, and the kernel stays one kernel.

Bottleneck: memory bandwidth; the addition and the bias are noise beside the matrix.
Trade-off: tall tiles load the bias less often, wide tiles read longer runs of the matrix.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two

from ._strided import contiguous_last, empty_strided_like, matrix, nbytes


@triton.jit
def bias_add_kernel(
    x_ptr, bias_ptr, out_ptr, M, N,
    stride_xm, stride_xn, stride_bias, stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BIAS_AXIS: tl.constexpr,
):  # fmt: skip
    """Write out[m, n] = x[m, n] + bias[n or m] for one BLOCK_M x BLOCK_N tile."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    m = ((tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    n = ((tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    inside = (m < M) & (n < N)
    m, n = m.to(tl.int64), n.to(tl.int64)
    if BIAS_AXIS == 1:
        bias = tl.load(bias_ptr + n * stride_bias, mask=n < N)
    else:
        bias = tl.load(bias_ptr + m * stride_bias, mask=m < M)
    x = tl.load(x_ptr + m * stride_xm + n * stride_xn, mask=inside)
    tl.store(out_ptr + m * stride_om + n * stride_on, x + bias, mask=inside)


def inputs(problem, device, generator):
    """Return x and out: (M, N) in the problem's layout, and bias: (N,), of problem.dtype."""
    x = matrix(problem, device, generator)
    bias = torch.randn(problem.N, device=device, dtype=x.dtype, generator=generator)
    return {"x": x, "bias": bias, "out": empty_strided_like(x)}


def launch(args, config):
    bias = args["bias"]
    out, x = contiguous_last(args["out"], args["x"])
    M, N = out.shape
    grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
    bias_add_kernel[grid](
        x, bias, out, M, N, *x.stride(), *bias.stride(), *out.stride(),
        BIAS_AXIS=1 if out is args["out"] else 0,
        **config,
    )  # fmt: skip


bias_add = KernelDefinition(
    name="bias_add",
    space=Space(
        BLOCK_M=powers_of_two(1, 64),
        BLOCK_N=powers_of_two(32, 2048),
        num_warps=[1, 2, 4, 8],
    ).heuristic(
        "32 * num_warps <= BLOCK_M * BLOCK_N <= 2048 * num_warps",
        reason="each thread adds between 1 and 64 elements",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": args["x"] + args["bias"]},
    work=lambda problem: {
        "bytes": 2 * nbytes(problem) + problem.N * problem.itemsize,
        "flops": problem.M * problem.N,
    },
    problems=[
        Problem(M=16384, N=8192, dtype="float32", layout="contiguous"),
        Problem(M=8192, N=8192, dtype="bfloat16", layout="padded"),
        Problem(M=8192, N=8192, dtype="float16", layout="column"),
        Problem(M=1823, N=781, dtype="float32", layout="contiguous"),
    ],
    default={"BLOCK_M": 16, "BLOCK_N": 128, "num_warps": 4},
    replaces=lambda args: torch.add(args["x"], args["bias"], out=args["out"]),
)
