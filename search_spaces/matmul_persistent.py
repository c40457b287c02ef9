"""Multiply two matrices with programs that stay: TMA descriptors, and several tiles per program.

Teaches what comes after tiling. A tensor descriptor tells the hardware a matrix's shape, strides
and tile once; on Hopper and later one thread then orders a whole tile (TMA), with bounds checked
and addresses computed for free. A program that takes several tiles in turn starts loading the
next one while it still writes the last (FLATTEN makes one loop of the two, so that the pipeline
never drains). Targets without TMA compile the same source to ordinary loads.

The number of programs is no query of the hardware but a parameter. With T tiles on S SMs, the
busiest program takes ceil(T / S) tiles, so TILES_PER_PROGRAM = ceil(T / S) is the persistent
kernel, and 1 is the ordinary one: its best value is a fact about shape and GPU that has to be
tuned, and does not travel.

Bottleneck: tensor cores, and the power that they draw.
Trade-off: 128 x 256 tiles need the least traffic per operation and leave one program per SM,
which only pays if its epilogue hides behind the next tile's loads. EPILOGUE_SPLIT stores the tile
in two halves: half the shared memory for the store, which can buy another stage.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from autotune_lab import KernelDefinition, Problem, Space

from . import matmul
from ._descriptors import describable
from ._tiles import grouped_tile


@triton.jit
def matmul_persistent_kernel(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    FLATTEN: tl.constexpr, EPILOGUE_SPLIT: tl.constexpr,
):  # fmt: skip
    """Write c = a @ b, given as descriptors, for every num_programs-th BLOCK_M x BLOCK_N tile."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    steps = tl.cdiv(K, BLOCK_K)
    first = tl.program_id(0)
    programs = tl.num_programs(0)
    # The epilogue counts tiles by itself: it would otherwise tie the next tile's loads to itself.
    stored = first - programs
    for tile in tl.range(first, tiles_m * tiles_n, programs, flatten=FLATTEN):
        tile_m, tile_n = grouped_tile(tile, tiles_m, tiles_n, GROUP_M)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(steps):
            left = a.load([tile_m * BLOCK_M, step * BLOCK_K])
            right = b.load([step * BLOCK_K, tile_n * BLOCK_N])
            total = tl.dot(left, right, total)
        stored += programs
        tile_m, tile_n = grouped_tile(stored, tiles_m, tiles_n, GROUP_M)
        m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
        if EPILOGUE_SPLIT:
            halves = tl.permute(tl.reshape(total, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            low, high = tl.split(halves)
            c.store([m, n], low.to(c.dtype))
            c.store([m, n + BLOCK_N // 2], high.to(c.dtype))
        else:
            c.store([m, n], total.to(c.dtype))


def launch(args, config):
    a, b, c = args["a"], args["b"], args["c"]
    if not describable(a, b, c):
        matmul.launch(args, {name: config[name] for name in matmul.matmul.space.names})
        return
    (M, K), N = a.shape, b.shape[1]
    BLOCK_M, BLOCK_N, BLOCK_K = (config[f"BLOCK_{axis}"] for axis in "MNK")
    stored_n = BLOCK_N // 2 if config["EPILOGUE_SPLIT"] else BLOCK_N
    options = dict(config)
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    grid = (triton.cdiv(tiles, options.pop("TILES_PER_PROGRAM")),)
    matmul_persistent_kernel[grid](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b, [BLOCK_K, BLOCK_N]),
        TensorDescriptor.from_tensor(c, [BLOCK_M, stored_n]),
        M, N, K,
        **options,
    )  # fmt: skip


matmul_persistent = KernelDefinition(
    name="matmul_persistent",
    space=Space(
        BLOCK_M=[64, 128, 256],
        BLOCK_N=[64, 128, 256],
        BLOCK_K=[64, 128],
        GROUP_M=[8],
        TILES_PER_PROGRAM=[1, 2, 4, 8, 16, 32],
        FLATTEN=[False, True],
        EPILOGUE_SPLIT=[False, True],
        num_warps=[4, 8],
        num_stages=[2, 3, 4, 5],
    )
    .where(
        "K * itemsize % 16 == 0 and N * itemsize % 16 == 0",
        reason="a descriptor's rows start on 16-byte boundaries",
    )
    .heuristic(
        "(TILES_PER_PROGRAM - 1) * device.sm_count < cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)",
        reason="no program takes one more tile while an SM stands idle",
    )
    .heuristic(
        "TILES_PER_PROGRAM > 1 or not FLATTEN", reason="one tile has no next one to flatten to"
    )
    .heuristic(
        "64 <= BLOCK_M * BLOCK_N / (32 * num_warps) <= 128",
        reason="the sum takes 64 to 128 registers of a thread: fewer starve the tensor cores",
    ),
    inputs=matmul.inputs,
    launch=launch,
    outputs=["c"],
    reference=lambda args: {"c": args["a"] @ args["b"]},
    work=matmul.work,
    problems=[
        Problem(M=4096, N=4096, K=4096, dtype="bfloat16"),
        Problem(M=8192, N=8192, K=8192, dtype="bfloat16"),
        Problem(M=1021, N=4000, K=2000, dtype="float16"),  # tails on every side
    ],
    default={
        "BLOCK_M": 128,
        "BLOCK_N": 256,
        "BLOCK_K": 64,
        "GROUP_M": 8,
        "TILES_PER_PROGRAM": 1,
        "FLATTEN": False,
        "EPILOGUE_SPLIT": True,
        "num_warps": 8,
        "num_stages": 3,
    },
    replaces=lambda args: torch.matmul(args["a"], args["b"], out=args["c"]),
)
