"""Softmax over rows: five steps, read once when the row fits and twice when it does not.

Teaches fusion by reduction. Written in five steps (maximum, subtract, exponentiate, sum, divide)
over global memory, a softmax moves its rows many times; with the row in registers it moves them
once. The maximum is subtracted first, so that no exponential overflows. A row longer than
``BLOCK_SIZE`` takes the online form: one pass carries the running maximum and rescales the
running sum whenever it grows, a second pass reads the row again, by then mostly out of L2, and
writes it normalised.

Bottleneck: memory bandwidth. Short rows starve the SM of bytes in flight, long ones of registers.
Trade-off: ``ROWS`` puts several short rows into one program, so that a warp owns a row and the
reduction needs no shared memory; ``num_warps`` spreads a long row, at a cross-warp reduction's
cost. A row in registers saves the second read, a smaller block saves the registers: neither
always wins.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space, powers_of_two

from ._strided import matrix, nbytes


@triton.jit
def softmax_kernel(
    x_ptr, out_ptr, M, N,
    stride_xm, stride_xn, stride_om, stride_on,
    ROWS: tl.constexpr, BLOCK_SIZE: tl.constexpr, ONE_PASS: tl.constexpr,
):  # fmt: skip
    """Write out[m, :] = softmax(x[m, :]) for a group of ROWS rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK_SIZE)
    is_row = (rows < M)[:, None]
    # Rows past the end repeat the last one: their loads stay in bounds and their stores are masked.
    rows = tl.minimum(rows, M - 1).to(tl.int64)[:, None]
    x_rows = x_ptr + rows * stride_xm
    out_rows = out_ptr + rows * stride_om

    if ONE_PASS:
        inside = (columns < N)[None, :]
        x = tl.load(x_rows + columns[None, :] * stride_xn, mask=inside, other=-float("inf"))
        x = x.to(tl.float32)
        exponentials = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
        y = exponentials / tl.sum(exponentials, axis=1, keep_dims=True)
        y = y.to(out_ptr.dtype.element_ty)
        tl.store(out_rows + columns[None, :] * stride_on, y, mask=inside & is_row)
    else:
        maximum = tl.full((ROWS, 1), -float("inf"), tl.float32)
        total = tl.zeros((ROWS, 1), tl.float32)
        for start in range(0, N, BLOCK_SIZE):
            inside = (start + columns < N)[None, :]
            x = tl.load(
                x_rows + (start + columns)[None, :] * stride_xn, mask=inside, other=-float("inf")
            ).to(tl.float32)
            larger = tl.maximum(maximum, tl.max(x, axis=1, keep_dims=True))
            # While a row has shown nothing but -inf, subtract 0: -inf - -inf would be NaN for good.
            shift = tl.where(larger == -float("inf"), 0.0, larger)
            total = total * tl.exp(maximum - shift)
            total += tl.sum(tl.exp(x - shift), axis=1, keep_dims=True)
            maximum = larger
        shift = tl.where(maximum == -float("inf"), 0.0, maximum)
        scale = 1.0 / total
        for start in range(0, N, BLOCK_SIZE):
            inside = (start + columns < N)[None, :]
            x = tl.load(x_rows + (start + columns)[None, :] * stride_xn, mask=inside, other=0.0)
            y = tl.exp(x.to(tl.float32) - shift) * scale
            y = y.to(out_ptr.dtype.element_ty)
            tl.store(out_rows + (start + columns)[None, :] * stride_on, y, mask=inside & is_row)


def inputs(problem, device, generator):
    """Return x, in the problem's layout, and out, contiguous: (M, N) tensors of problem.dtype."""
    x = matrix(problem, device, generator)
    return {"x": x, "out": torch.empty((problem.M, problem.N), device=device, dtype=x.dtype)}


def launch(args, config):
    x, out = args["x"], args["out"]
    M, N = x.shape
    grid = (triton.cdiv(M, config["ROWS"]),)
    softmax_kernel[grid](
        x, out, M, N, *x.stride(), *out.stride(), ONE_PASS=config["BLOCK_SIZE"] >= N, **config
    )


row_softmax = KernelDefinition(
    name="row_softmax",
    space=Space(
        BLOCK_SIZE=powers_of_two(256, 32768),
        ROWS=[1, 2, 4, 8],
        num_warps=[1, 2, 4, 8, 16, 32],
    )
    .heuristic(
        "BLOCK_SIZE < 2 * N or BLOCK_SIZE == 256",
        reason="a block above the smallest is never more than half empty",
    )
    .heuristic(
        "32 * num_warps <= ROWS * BLOCK_SIZE <= 4096 * num_warps",
        reason="each thread holds between 1 and 128 elements; more would spill",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": torch.softmax(args["x"], dim=-1)},
    work=lambda problem: {"bytes": 2 * nbytes(problem), "flops": 5 * problem.M * problem.N},
    problems=[
        Problem(M=16384, N=4096, dtype="float32", layout="contiguous"),
        Problem(M=4096, N=32000, dtype="bfloat16", layout="contiguous"),  # a vocabulary
        Problem(M=1823, N=781, dtype="float32", layout="padded"),  # tails everywhere, rows apart
    ],
    default={"BLOCK_SIZE": 1024, "ROWS": 1, "num_warps": 4},
    replaces=lambda args: torch.softmax(args["x"], dim=-1, out=args["out"]),
)
