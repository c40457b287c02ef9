"""Multiply, add a bias, apply an activation, add a residual: four operations, one trip to memory.

Teaches the epilogue. The sum over K ends in registers; whatever is done there before the store
costs no traffic. Unfused, the product is written, read and written by the bias, again by the
activation, again by the residual: at 4096 x 4096 in bfloat16 each trip moves 64 MiB, about a
tenth of the product's own time.

Bottleneck: tensor cores, while the epilogue hides. Its arithmetic runs on the other units: two
programs on an SM, or the next tile's loads (TILES_PER_PROGRAM above 1), give the tensor cores
something to do meanwhile.
Trade-off: the tile that is best for the product alone may leave no registers for the epilogue.
EPILOGUE_SPLIT finishes the tile in two halves, and so holds half the bias, residual and output at
a time. TMA loads tiles by descriptor (see ``matmul_persistent``); without it any stride and
alignment will do.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from autotune_lab import KernelDefinition, Problem, Space
from autotune_lab.definitions import DEFAULT_TOLERANCES

from . import matmul
from ._activations import TORCH_ACTIVATIONS, activate
from ._descriptors import describable
from ._tiles import grouped_tile, tile_product


@triton.jit
def finish(
    total, bias_ptr, residual, c, m, n, M, N, stride_rm, stride_rn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, WIDTH: tl.constexpr,
    ACTIVATION: tl.constexpr, RESIDUAL: tl.constexpr, TMA: tl.constexpr,
):  # fmt: skip
    """Store activation(total + bias) + residual at (m, n), for WIDTH columns."""
    rows = (m + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    columns = (n + tl.arange(0, WIDTH))[None, :]
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0)
    value = activate(total + bias.to(tl.float32), ACTIVATION)
    if TMA:
        if RESIDUAL:
            value += residual.load([m, n]).to(tl.float32)
        c.store([m, n], value.to(c.dtype))
    else:
        inside = (rows < M) & (columns < N)
        if RESIDUAL:
            at = residual + rows * stride_rm + columns * stride_rn
            value += tl.load(at, mask=inside, other=0.0).to(tl.float32)
        at = c + rows * stride_cm + columns * stride_cn
        tl.store(at, value.to(c.dtype.element_ty), mask=inside)


@triton.jit
def matmul_bias_activation_kernel(
    a, b, bias_ptr, residual, c, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_rm, stride_rn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    FLATTEN: tl.constexpr, EPILOGUE_SPLIT: tl.constexpr, TMA: tl.constexpr, EVEN_K: tl.constexpr,
    PRECISION: tl.constexpr, ACTIVATION: tl.constexpr, RESIDUAL: tl.constexpr,
):  # fmt: skip
    """Write c = activation(a @ b + bias) + residual for every num_programs-th tile."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first = tl.program_id(0)
    programs = tl.num_programs(0)
    # The epilogue counts tiles by itself: it would otherwise tie the next tile's loads to itself.
    stored = first - programs
    for tile in tl.range(first, tiles_m * tiles_n, programs, flatten=FLATTEN):
        tile_m, tile_n = grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        total = tile_product(
            a, b, tile_m, tile_n, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
            BLOCK_M, BLOCK_N, BLOCK_K, EVEN_K, TMA, PRECISION,
        )  # fmt: skip
        stored += programs
        tile_m, tile_n = grouped_tile(stored, tiles_m, tiles_n, GROUP_M)
        m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
        if EPILOGUE_SPLIT:
            HALF: tl.constexpr = BLOCK_N // 2
            low, high = tl.split(tl.permute(tl.reshape(total, (BLOCK_M, 2, HALF)), (0, 2, 1)))
            finish(
                low, bias_ptr, residual, c, m, n, M, N,
                stride_rm, stride_rn, stride_cm, stride_cn,
                BLOCK_M, HALF, ACTIVATION, RESIDUAL, TMA,
            )  # fmt: skip
            finish(
                high, bias_ptr, residual, c, m, n + HALF, M, N,
                stride_rm, stride_rn, stride_cm, stride_cn,
                BLOCK_M, HALF, ACTIVATION, RESIDUAL, TMA,
            )  # fmt: skip
        else:
            finish(
                total, bias_ptr, residual, c, m, n, M, N,
                stride_rm, stride_rn, stride_cm, stride_cn,
                BLOCK_M, BLOCK_N, ACTIVATION, RESIDUAL, TMA,
            )  # fmt: skip


def inputs(problem, device, generator):
    """Return a: (M, K), b: (K, N), bias: (N,), residual and c: (M, N), contiguous."""
    args = matmul.inputs(problem, device, generator)
    c = args["c"]
    like = {"device": device, "dtype": c.dtype, "generator": generator}
    args["bias"] = torch.randn(problem.N, **like)
    # The kernel is not given a residual that it shall not add; the output stands in for it.
    args["residual"] = torch.randn(c.shape, **like) if problem.residual else None
    args["activation"] = problem.activation
    return args


def launch(args, config):
    a, b, bias, c = args["a"], args["b"], args["bias"], args["c"]
    residual = c if args["residual"] is None else args["residual"]
    (M, K), N = a.shape, b.shape[1]
    BLOCK_M, BLOCK_N, BLOCK_K = (config[f"BLOCK_{axis}"] for axis in "MNK")
    options = dict(config)
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    tiles_per_program = options.pop("TILES_PER_PROGRAM")
    strides = (*a.stride(), *b.stride(), *residual.stride(), *c.stride())
    operands = (a, b, bias, residual, c)
    options["TMA"] = config["TMA"] and describable(a, b, residual, c)
    if options["TMA"]:
        width = BLOCK_N // 2 if config["EPILOGUE_SPLIT"] else BLOCK_N
        operands = (
            TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
            TensorDescriptor.from_tensor(b, [BLOCK_K, BLOCK_N]),
            bias,
            TensorDescriptor.from_tensor(residual, [BLOCK_M, width]),
            TensorDescriptor.from_tensor(c, [BLOCK_M, width]),
        )
    matmul_bias_activation_kernel[(triton.cdiv(tiles, tiles_per_program),)](
        *operands, M, N, K, *strides,
        FLATTEN=tiles_per_program > 1,
        EVEN_K=K % BLOCK_K == 0,
        PRECISION="tf32" if a.dtype == torch.float32 else None,
        ACTIVATION=args["activation"],
        RESIDUAL=args["residual"] is not None,
        **options,
    )  # fmt: skip


def unfused(args):
    """Return what torch computes in three or four operations."""
    x = torch.matmul(args["a"], args["b"]) + args["bias"]
    x = TORCH_ACTIVATIONS[args["activation"]](x)
    return x if args["residual"] is None else x + args["residual"]


def work(problem):
    """Count the matmul's work, plus a bias and perhaps a residual to read."""
    product = matmul.work(problem)
    extra = problem.N + (problem.M * problem.N if problem.residual else 0)
    return {
        "bytes": product["bytes"] + extra * problem.itemsize,
        "flops": product["flops"] + 2 * problem.M * problem.N,
    }


matmul_bias_activation = KernelDefinition(
    name="matmul_bias_activation",
    space=Space(
        BLOCK_M=[64, 128, 256],
        BLOCK_N=[64, 128, 256],
        BLOCK_K=[32, 64, 128],
        GROUP_M=[8],
        TILES_PER_PROGRAM=[1, 2, 4, 8, 16],
        EPILOGUE_SPLIT=[False, True],
        TMA=[False, True],
        num_warps=[4, 8],
        num_stages=[2, 3, 4],
    )
    .heuristic(
        "not TMA or (K * itemsize % 16 == 0 and N * itemsize % 16 == 0)",
        reason="a descriptor's rows start on 16-byte boundaries; others fall back to pointers",
    )
    .heuristic(
        "(TILES_PER_PROGRAM - 1) * device.sm_count < cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)",
        reason="no program takes one more tile while an SM stands idle",
    )
    .heuristic(
        "BLOCK_M * BLOCK_N <= 4096 * num_warps",
        reason="the sum alone would take more than 128 registers of a thread",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["c"],
    reference=lambda args: {"c": unfused(args)},
    work=work,
    problems=[
        Problem(M=4096, N=4096, K=4096, dtype="bfloat16", activation="gelu_tanh", residual=False),
        Problem(M=4096, N=4096, K=4096, dtype="bfloat16", activation="silu", residual=True),
        Problem(M=8192, N=11008, K=4096, dtype="bfloat16", activation="relu", residual=False),
        Problem(M=1021, N=1021, K=509, dtype="float16", activation="gelu", residual=True),
        Problem(M=2048, N=2048, K=2048, dtype="float32", activation="none", residual=False),
    ],
    default={
        "BLOCK_M": 128,
        "BLOCK_N": 128,
        "BLOCK_K": 64,
        "GROUP_M": 8,
        "TILES_PER_PROGRAM": 1,
        "EPILOGUE_SPLIT": False,
        "TMA": False,
        "num_warps": 8,
        "num_stages": 3,
    },
    tolerances={"float32": DEFAULT_TOLERANCES["tfloat32"]},
    replaces=unfused,
)
