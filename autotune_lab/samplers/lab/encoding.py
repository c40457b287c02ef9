"""Rows of a space as points: ordered values keep their order, names lie equally far apart."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from autotune_lab.samplers.lab.gaussian import Floats, Owners
from autotune_lab.spaces.parameter import Parameter
from autotune_lab.spaces.space import BoundSpace

Rows = NDArray[np.intp]

WARP = 32


class Encoding:
    """Looks points up parameter by parameter, so that a space of 10^6 rows is never encoded whole.

    Attributes:
        owners: (columns,), the trait that each column belongs to; a trait has one length scale.
    """

    def __init__(self, space: BoundSpace) -> None:
        self._codes = space.codes
        self._places = [(i, _place(parameter)) for i, parameter in enumerate(space.parameters)]
        self._traits = [(i, trait) for i, p in enumerate(space.parameters) for trait in _derived(p)]
        widths = [table.shape[1] for _, table in (*self._places, *self._traits)]
        self.owners: Owners = np.repeat(np.arange(len(widths)), widths)

    def places(self, rows: Rows) -> Floats:
        """Return (rows, columns) where each value stands in its parameter's list."""
        return np.hstack([table[self._codes[rows, i]] for i, table in self._places])

    def points(self, rows: Rows) -> Floats:
        """Return (rows, columns) points in the unit cube: places, then derived traits."""
        traits = [table[self._codes[rows, i]] for i, table in self._traits]
        return np.hstack([self.places(rows), *traits])


def _place(parameter: Parameter) -> Floats:
    """Return (values, columns): even steps in one column, or a corner of a simplex each."""
    count = len(parameter.values)
    if parameter.ordered:
        return np.linspace(0.0, 1.0, count)[:, None]
    corners: Floats = np.eye(count) / np.sqrt(2.0)
    return corners


def _derived(parameter: Parameter) -> Iterator[Floats]:
    """Yield (values, 1) tables of what else a number may act through: so far, how uneven it is.

    Sizes that divide the warp and the problem evenly are a kind of their own: the fastest
    convolutions on a W6600 have blocks of 32, 64, 128 and 256 threads; with 48 or 96 threads they
    take 80 times as long.
    """
    if not parameter.ordered or not all(isinstance(value, int) for value in parameter.values):
        return
    numbers = [int(str(value)) for value in parameter.values]
    odd_factors = np.array([n // (n & -n) if n > 0 else 1 for n in numbers])
    if max(numbers) >= WARP and 1 == odd_factors.min() < odd_factors.max():
        uneven = np.log2(odd_factors)
        yield (uneven / uneven.max())[:, None]
