"""What the matrix products share: the order of their tiles, and the sum over K for one of them."""

import triton
import triton.language as tl


@triton.jit
def grouped_tile(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Return the (row, column) of the ``tile``-th output tile, GROUP_M rows of tiles at a time.

    Programs that run together then share few rows of A and few columns of B, which stay in L2: with
    9 programs, one row of tiles reads 1 + 9 strips, a group of 3 x 3 tiles reads 3 + 3.
    """
    tiles_per_group = GROUP_M * tiles_n
    group = tile // tiles_per_group
    first_m = group * GROUP_M
    group_m = tl.minimum(tiles_m - first_m, GROUP_M)
    inside = tile % tiles_per_group
    return first_m + inside % group_m, inside // group_m


@triton.jit
def tile_product(
    a, b, tile_m, tile_n, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    EVEN_K: tl.constexpr, TMA: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Return one (BLOCK_M, BLOCK_N) tile of a @ b in float32.

    With TMA, a and b are descriptors, which know their bounds; else they are pointers. Rows past M
    and columns past N then wrap around, so that only K needs a mask, and only if not EVEN_K.
    """
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if TMA:
        for start in range(0, K, BLOCK_K):
            left = a.load([tile_m * BLOCK_M, start])
            right = b.load([start, tile_n * BLOCK_N])
            total = tl.dot(left, right, total, input_precision=PRECISION)
    else:
        rows = ((tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M).to(tl.int64)
        columns = ((tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N).to(tl.int64)
        k = tl.arange(0, BLOCK_K)
        a_ptrs = a + rows[:, None] * stride_am + k[None, :] * stride_ak
        b_ptrs = b + k[:, None] * stride_bk + columns[None, :] * stride_bn
        for start in range(0, K, BLOCK_K):
            if EVEN_K:
                left = tl.load(a_ptrs)
                right = tl.load(b_ptrs)
            else:
                left = tl.load(a_ptrs, mask=(start + k < K)[None, :], other=0.0)
                right = tl.load(b_ptrs, mask=(start + k < K)[:, None], other=0.0)
            total = tl.dot(left, right, total, input_precision=PRECISION)
            a_ptrs += BLOCK_K * stride_ak
            b_ptrs += BLOCK_K * stride_bk
    return total
