"""RMS norm over rows: a layer norm without its mean, and the same memory to move.

Teaches that fewer operations are not less time. Dropping the mean removes a reduction and a
vector of biases, yet the rows still come in once and go out once, and that is what the clock
sees. One sum of squares has nothing to cancel, so a row longer than ``BLOCK_SIZE`` simply adds up
block by block and is read again to be scaled.

Bottleneck: memory bandwidth; for a decoding batch of 16 rows, the launch.
Trade-off: as for ``layer_norm``. With few rows there are few programs, and then more warps per
row is the only parallelism left.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two

from ._strided import matrix, nbytes


@triton.jit
def rms_norm_kernel(
    x_ptr, weight_ptr, out_ptr, M, N,
    stride_xm, stride_xn, stride_om, stride_on, epsilon,
    ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr, ONE_PASS: tl.constexpr,
):  # fmt: skip
    """Write out = x / sqrt(mean(x^2) + epsilon) * weight for a group of ROWS rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK_SIZE)[None, :]
    is_row = (rows < M)[:, None]
    # Rows past the end repeat the last one: their loads stay in bounds and their stores are masked.
    rows = tl.minimum(rows, M - 1).to(tl.int64)[:, None]
    x_rows = x_ptr + rows * stride_xm
    out_rows = out_ptr + rows * stride_om

    if ONE_PASS:
        inside = columns < N
        x = tl.load(x_rows + columns * stride_xn, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / N + epsilon)
        weight = tl.load(weight_ptr + columns, mask=inside).to(tl.float32)
        y = (x * scale * weight).to(out_ptr.dtype.element_ty)
        tl.store(out_rows + columns * stride_on, y, mask=inside & is_row)
    else:
        squares = tl.zeros((ROWS, BLOCK_SIZE), tl.float32)
        for start in range(0, N, BLOCK_SIZE):
            at = start + columns
            x = tl.load(x_rows + at * stride_xn, mask=at < N, other=0.0).to(tl.float32)
            squares += x * x
        scale = tl.rsqrt(tl.sum(squares, axis=1, keep_dims=True) / N + epsilon)
        for start in range(0, N, BLOCK_SIZE):
            at = start + columns
            inside = at < N
            x = tl.load(x_rows + at * stride_xn, mask=inside, other=0.0).to(tl.float32)
            weight = tl.load(weight_ptr + at, mask=inside).to(tl.float32)
            y = (x * scale * weight).to(out_ptr.dtype.element_ty)
            tl.store(out_rows + at * stride_on, y, mask=inside & is_row)


def inputs(problem, device, generator):
    """Return x: (M, N) in the problem's layout; weight: (N,); out: (M, N), contiguous."""
    x = matrix(problem, device, generator)
    return {
        "x": x,
        "weight": torch.randn(problem.N, device=device, dtype=x.dtype, generator=generator),
        "out": torch.empty((problem.M, problem.N), device=device, dtype=x.dtype),
        "epsilon": 1e-6,
    }


def launch(args, config):
    x, out = args["x"], args["out"]
    M, N = x.shape
    grid = (triton.cdiv(M, config["ROWS"]),)
    rms_norm_kernel[grid](
        x, args["weight"], out, M, N, *x.stride(), *out.stride(), args["epsilon"],
        ONE_PASS=config["BLOCK_SIZE"] >= N,
        **config,
    )  # fmt: skip


def torch_rms_norm(args):
    """Return what torch computes for the same arguments."""
    x = args["x"]
    return torch.nn.functional.rms_norm(x, x.shape[-1:], args["weight"], args["epsilon"])


rms_norm = KernelDefinition(
    name="rms_norm",
    space=Space(
        BLOCK_SIZE=powers_of_two(256, 16384),
        ROWS=[1, 2, 4, 8],
        num_warps=[1, 2, 4, 8, 16],
    )
    .heuristic(
        "BLOCK_SIZE < 2 * N or BLOCK_SIZE == 256",
        reason="a block above the smallest is never more than half empty",
    )
    .heuristic(
        "32 * num_warps <= ROWS * BLOCK_SIZE <= 2048 * num_warps",
        reason="each thread holds between 1 and 64 elements; the weight wants registers too",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": torch_rms_norm(args)},
    work=lambda problem: {
        "bytes": 2 * nbytes(problem) + problem.N * problem.itemsize,
        "flops": 4 * problem.M * problem.N,
    },
    problems=[
        Problem(M=16384, N=4096, dtype="bfloat16", layout="contiguous"),
        Problem(M=16, N=8192, dtype="bfloat16", layout="contiguous"),  # a decoding batch
        Problem(M=4096, N=5120, dtype="float16", layout="padded"),  # no power of two
        Problem(M=1823, N=781, dtype="float32", layout="column"),
    ],
    default={"BLOCK_SIZE": 1024, "ROWS": 1, "num_warps": 4},
    replaces=torch_rms_norm,
)
