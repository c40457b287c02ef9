"""Rows of a space as points: ordered values keep their order, names lie equally far apart."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from autotune_lab.samplers.lab.gaussian import Floats, Owners
from autotune_lab.spaces.parameter import Parameter
from autotune_lab.spaces.space import BoundSpace

Rows = NDArray[np.intp]

WARP = 32
WARPS = "num_warps"
# What Triton takes beside a kernel's own parameters: none of these is the side of a tile.
OPTIONS = frozenset({WARPS, "num_stages", "num_ctas", "maxnreg", "waves_per_eu"})
MOST_SIDES = 4  # of tiles; their pairs are as many traits again as most kernels have parameters

Table = tuple[int, Floats]  # a parameter's column and (values, width) what each value adds
Trait = Sequence[Table]


class Encoding:
    """Looks points up parameter by parameter, so that a space of 10^6 rows is never encoded whole.

    Attributes:
        owners: (columns,), the trait that each column belongs to; a trait has one length scale.
        centre: (columns,), the middle of all places.
        is_triton: the space has Triton's own ``num_warps``.
    """

    def __init__(self, space: BoundSpace) -> None:
        self._codes = space.codes
        self._places = [(i, _place(parameter)) for i, parameter in enumerate(space.parameters)]
        self._traits: list[Trait] = [*_uneven(space.parameters), *_tiles(space.parameters)]
        self.is_triton = WARPS in space.names
        self.centre: Floats = np.hstack([table.mean(axis=0) for _, table in self._places])
        widths = [table.shape[1] for _, table in self._places] + [1] * len(self._traits)
        self.owners: Owners = np.repeat(np.arange(len(widths)), widths)

    def places(self, rows: Rows) -> Floats:
        """Return (rows, columns) where each value stands in its parameter's list."""
        return np.hstack([table[self._codes[rows, i]] for i, table in self._places])

    def points(self, rows: Rows) -> Floats:
        """Return (rows, columns) points in the unit cube: places, then derived traits."""
        traits = [sum(table[self._codes[rows, i]] for i, table in trait) for trait in self._traits]
        return np.hstack([self.places(rows), *traits])


def _place(parameter: Parameter) -> Floats:
    """Return (values, columns): even steps in one column, or a corner of a simplex each."""
    count = len(parameter.values)
    if parameter.ordered:
        return np.linspace(0.0, 1.0, count)[:, None]
    corners: Floats = np.eye(count) / np.sqrt(2.0)
    return corners


def _uneven(parameters: Sequence[Parameter]) -> Iterator[Trait]:
    """Yield, for each number that a warp's size matters to, how far it is from a power of two.

    Sizes that divide the warp and the problem evenly are a kind of their own: the fastest
    convolutions on a W6600 have blocks of 32, 64, 128 and 256 threads; with 48 or 96 threads they
    take 80 times as long.
    """
    for column, parameter in enumerate(parameters):
        numbers = _numbers(parameter)
        odd_factors = np.array([n // (n & -n) if n > 0 else 1 for n in numbers])
        if numbers and max(numbers) >= WARP and 1 == odd_factors.min() < odd_factors.max():
            uneven = np.log2(odd_factors)
            yield [(column, (uneven / uneven.max())[:, None])]


def _tiles(parameters: Sequence[Parameter]) -> Iterator[Trait]:
    """Yield, for each two sides of a tile, how much of it a warp has to hold, as a logarithm.

    Registers, and so what spills, follow it: a product of 128 x 256 takes 128 registers of each
    thread for its sum with 8 warps, and 256 with 4, five times as slow on an H200.
    """
    warps = [i for i, p in enumerate(parameters) if p.name == WARPS and _numbers(p)]
    sides = [i for i, p in enumerate(parameters) if _is_side(p)][:MOST_SIDES]
    if not warps or not sides:
        return
    for tile in combinations(sides, min(2, len(sides))):
        octaves = [np.log2(_numbers(parameters[i])) for i in tile]
        # A doubling of the tile counts as much as one of its longer-listed side.
        unit = max(float(np.ptp(side)) for side in octaves)
        trait = list(zip(tile, octaves, strict=True))
        trait.append((warps[0], -np.log2(_numbers(parameters[warps[0]]))))
        yield [(i, (table / unit)[:, None]) for i, table in trait]


def _is_side(parameter: Parameter) -> bool:
    """Tell whether a parameter may be a side of a tile: powers of two that reach a warp's size."""
    numbers = _numbers(parameter)
    return (
        parameter.name not in OPTIONS
        and len(numbers) > 1
        and max(numbers) >= WARP
        and all(n > 0 and n & (n - 1) == 0 for n in numbers)
    )


def _numbers(parameter: Parameter) -> list[int]:
    """Return a parameter's values where they are integers in an order; else nothing."""
    values = parameter.values
    if not parameter.ordered or not all(isinstance(value, int) for value in values):
        return []
    return [int(str(value)) for value in values]
