"""Finds every valid row of a space: breadth-first over its parameters, pruned as it goes.

A row is a tuple of value indices ("codes"). Each constraint is decided as soon as the last
parameter that it reads is bound, once for each distinct combination of the values that it reads, so
the rules of Python hold exactly and 10^6 raw combinations cost a few array operations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.constraint import BoundConstraint
from autotune_lab.spaces.parameter import Parameter

Codes = NDArray[np.int32]

MAX_ROWS = 20_000_000  # about 1 GB while it grows; no tuner gets through a thousandth of it


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The valid rows, and what became of the others.

    Attributes:
        codes: (size, parameters), value indices in lexicographic order; columns are contiguous.
        rejections: raw combinations that each constraint was the first to reject, by label.
    """

    codes: Codes
    rejections: dict[str, int]


def enumerate_rows(
    parameters: Sequence[Parameter], constraints: Sequence[BoundConstraint]
) -> Enumeration:
    """Return every row that all constraints allow.

    Raises:
        DefinitionError: a constraint fails on some row, or too many rows survive to be held.
    """
    sizes = [len(parameter.values) for parameter in parameters]
    columns: list[Codes] = []
    rejections = dict.fromkeys((constraint.label for constraint in constraints), 0)
    rows = 1
    for bound in range(len(parameters) + 1):
        if bound:
            columns = _grow(columns, rows, sizes[bound - 1])
            rows *= sizes[bound - 1]
        raw_per_row = math.prod(sizes[bound:])
        for constraint in constraints:
            if max(constraint.columns, default=-1) != bound - 1:
                continue
            keep = _decide(constraint, columns, rows, parameters)
            kept = int(np.count_nonzero(keep))
            rejections[constraint.label] += (rows - kept) * raw_per_row
            if kept < rows:
                columns = [column[keep] for column in columns]
                rows = kept
    codes = np.empty((rows, len(parameters)), dtype=np.int32, order="F")
    for index, column in enumerate(columns):
        codes[:, index] = column
    return Enumeration(codes, rejections)


def _grow(columns: list[Codes], rows: int, size: int) -> list[Codes]:
    """Extend each row by every value of the next parameter, in lexicographic order."""
    if rows * size > MAX_ROWS:
        raise DefinitionError(
            "space",
            [f"more than {MAX_ROWS:,} combinations are left after some parameters; constrain them"],
        )
    grown = [np.repeat(column, size) for column in columns]
    return [*grown, np.tile(np.arange(size, dtype=np.int32), rows)]


def _decide(
    constraint: BoundConstraint, columns: list[Codes], rows: int, parameters: Sequence[Parameter]
) -> NDArray[np.bool_]:
    """Return (rows,) bool: the rows that a constraint allows."""
    if not rows:
        return np.zeros(0, dtype=bool)
    if not constraint.columns:
        return np.full(rows, constraint.allows(()))
    sizes = [len(parameters[column].values) for column in constraint.columns]
    combinations, which = _distinct([columns[c] for c in constraint.columns], sizes)
    values = [
        [parameters[column].values[code] for code in codes.tolist()]
        for column, codes in zip(constraint.columns, combinations, strict=True)
    ]
    verdicts = [constraint.allows(row) for row in zip(*values, strict=True)]
    return np.array(verdicts, dtype=bool)[which]


def _distinct(
    columns: list[Codes], sizes: list[int]
) -> tuple[list[NDArray[np.integer]], NDArray[np.intp]]:
    """Return the distinct combinations of some columns, and for each row the place of its own."""
    total = math.prod(sizes)
    if total > max(4 * len(columns[0]), 1 << 16):  # too sparse for a table of all combinations
        stacked = np.stack(columns, axis=1)
        unique, which = np.unique(stacked, axis=0, return_inverse=True)
        return list(unique.T), which.reshape(-1)
    keys = np.ravel_multi_index(tuple(columns), tuple(sizes))
    present = np.zeros(total, dtype=bool)
    present[keys] = True
    found = np.flatnonzero(present)
    places = np.empty(total, dtype=np.intp)
    places[found] = np.arange(len(found))
    return list(np.unravel_index(found, tuple(sizes))), places[keys]
