"""Rows of a space as points: ordered values keep their order, names lie equally far apart."""

import numpy as np
from numpy.typing import NDArray

from autotune_lab.samplers.lab.gaussian import Floats, Owners
from autotune_lab.spaces.parameter import Parameter
from autotune_lab.spaces.space import BoundSpace

Rows = NDArray[np.intp]


class Encoding:
    """Looks points up parameter by parameter, so that a space of 10^6 rows is never encoded whole.

    Attributes:
        owners: (columns,), the parameter that each column belongs to.
    """

    def __init__(self, space: BoundSpace) -> None:
        self._codes = space.codes
        self._tables = [_table(parameter) for parameter in space.parameters]
        widths = [table.shape[1] for table in self._tables]
        self.owners: Owners = np.repeat(np.arange(len(widths)), widths)

    def points(self, rows: Rows) -> Floats:
        """Return (rows, columns) points in the unit cube."""
        columns = [table[self._codes[rows, i]] for i, table in enumerate(self._tables)]
        return np.hstack(columns)


def _table(parameter: Parameter) -> Floats:
    """Return (values, columns): even steps in one column, or a corner of a simplex each."""
    count = len(parameter.values)
    if parameter.ordered:
        return np.linspace(0.0, 1.0, count)[:, None] if count > 1 else np.zeros((1, 1))
    corners: Floats = np.eye(count) / np.sqrt(2.0)
    return corners
