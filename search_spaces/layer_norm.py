"""Layer norm over rows, in one pass when the row fits and two when it does not.

Teaches numerics. Variance as E[x^2] - E[x]^2 cancels when the mean is large: with mean 1000 and
deviation 1, float32 keeps a digit of it. With the row in registers, the kernel subtracts the mean
first. A row longer than ``BLOCK_SIZE`` is walked twice: the first pass merges each block's mean
and squared deviations into the row's by Chan's formula, which does not cancel either, and the
second pass reads again and normalises.

Bottleneck: memory bandwidth; weight and bias are shared by all rows and live in the cache.
Trade-off: as for the softmax. A row in registers saves the second read, ``ROWS`` puts short rows
together, and ``num_warps`` pays for a wider reduction with a barrier. Source of the merge: Chan,
Golub, LeVeque, "Updating formulae and a pairwise algorithm" (1979).
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two

from ._strided import matrix, nbytes


@triton.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, M, N,
    stride_xm, stride_xn, stride_om, stride_on, epsilon,
    ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr, ONE_PASS: tl.constexpr,
):  # fmt: skip
    """Write out = (x - mean) / sqrt(variance + epsilon) * weight + bias for ROWS rows."""
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
        mean = tl.sum(x, axis=1, keep_dims=True) / N
        centred = tl.where(inside, x - mean, 0.0)
        variance = tl.sum(centred * centred, axis=1, keep_dims=True) / N
        weight = tl.load(weight_ptr + columns, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + columns, mask=inside).to(tl.float32)
        y = centred * tl.rsqrt(variance + epsilon) * weight + bias
        y = y.to(out_ptr.dtype.element_ty)
        tl.store(out_rows + columns * stride_on, y, mask=inside & is_row)
    else:
        mean = tl.zeros((ROWS, 1), tl.float32)
        squares = tl.zeros((ROWS, 1), tl.float32)
        for start in range(0, N, BLOCK_SIZE):
            at = start + columns
            inside = at < N
            x = tl.load(x_rows + at * stride_xn, mask=inside, other=0.0).to(tl.float32)
            count = tl.minimum(N - start, BLOCK_SIZE).to(tl.float32)
            block_mean = tl.sum(x, axis=1, keep_dims=True) / count
            centred = tl.where(inside, x - block_mean, 0.0)
            step = block_mean - mean
            share = count / (start + count)
            squares += tl.sum(centred * centred, axis=1, keep_dims=True)
            squares += step * step * start * share
            mean += step * share
        scale = tl.rsqrt(squares / N + epsilon)
        for start in range(0, N, BLOCK_SIZE):
            at = start + columns
            inside = at < N
            x = tl.load(x_rows + at * stride_xn, mask=inside, other=0.0).to(tl.float32)
            weight = tl.load(weight_ptr + at, mask=inside).to(tl.float32)
            bias = tl.load(bias_ptr + at, mask=inside).to(tl.float32)
            y = ((x - mean) * scale * weight + bias).to(out_ptr.dtype.element_ty)
            tl.store(out_rows + at * stride_on, y, mask=inside & is_row)


def inputs(problem, device, generator):
    """Return x: (M, N) in the problem's layout; weight, bias: (N,); out: (M, N), contiguous."""
    x = matrix(problem, device, generator)
    vector = {"device": device, "dtype": x.dtype, "generator": generator}
    return {
        "x": x,
        "weight": torch.randn(problem.N, **vector),
        "bias": torch.randn(problem.N, **vector),
        "out": torch.empty((problem.M, problem.N), device=device, dtype=x.dtype),
        "epsilon": 1e-5,
    }


def launch(args, config):
    x, out = args["x"], args["out"]
    M, N = x.shape
    grid = (triton.cdiv(M, config["ROWS"]),)
    layer_norm_kernel[grid](
        x, args["weight"], args["bias"], out, M, N, *x.stride(), *out.stride(), args["epsilon"],
        ONE_PASS=config["BLOCK_SIZE"] >= N,
        **config,
    )  # fmt: skip


def torch_layer_norm(args):
    """Return what torch computes for the same arguments."""
    x = args["x"]
    return torch.nn.functional.layer_norm(
        x, x.shape[-1:], args["weight"], args["bias"], args["epsilon"]
    )


layer_norm = KernelDefinition(
    name="layer_norm",
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
        reason="each thread holds between 1 and 64 elements; weight and bias want registers too",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": torch_layer_norm(args)},
    work=lambda problem: {
        "bytes": 2 * nbytes(problem) + 2 * problem.N * problem.itemsize,
        "flops": 8 * problem.M * problem.N,
    },
    problems=[
        Problem(M=16384, N=4096, dtype="bfloat16", layout="contiguous"),
        Problem(M=8192, N=8192, dtype="float32", layout="contiguous"),
        Problem(M=4096, N=5120, dtype="float16", layout="padded"),  # no power of two
        Problem(M=1823, N=781, dtype="float32", layout="contiguous"),
    ],
    default={"BLOCK_SIZE": 1024, "ROWS": 1, "num_warps": 4},
    replaces=torch_layer_norm,
)
