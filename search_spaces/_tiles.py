"""The order in which programs visit the tiles of a matrix product."""

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
