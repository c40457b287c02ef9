"""Set cover: the fewest rows that together reach every column; by SciPy's MILP, else greedily."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

# (row, column) pairs up to which HiGHS solves a random cover within a second.
EXACT_CELLS = 6_000

Rows = NDArray[np.int64]


def cover(
    reaches: NDArray[np.bool_], worth: NDArray[np.float64], size: int
) -> tuple[Rows | None, bool]:
    """Return at most ``size`` rows that reach every column, or None; and whether None is proven.

    Rows that reach no more than another one are set aside first.

    Args:
        reaches: (rows, columns) which row reaches which column.
        worth: (rows,) which of two equal rows is preferred.
        size: the most rows.
    """
    reached = reaches.sum(axis=1)
    if not reaches.any(axis=0).all() or np.sort(reached)[-size:].sum() < reaches.shape[1]:
        return None, True
    order = np.lexsort((-worth, -reached))
    rows: Rows = order[_maximal(reaches[order])]
    sets = reaches[rows]
    found = _greedily(sets)
    if len(found) <= size:
        return rows[found], True
    if sets.size > EXACT_CELLS:
        return None, False
    fewest = _exactly(sets)
    if fewest is None:
        return None, False
    return (rows[fewest], True) if len(fewest) <= size else (None, True)


def _exactly(sets: NDArray[np.bool_]) -> Rows | None:
    """Solve set cover as an integer program; None if the solver gives up."""
    solved = milp(
        c=np.ones(len(sets)),
        integrality=np.ones(len(sets)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(sets.T.astype(np.float64)), lb=1),
    )
    return np.flatnonzero(solved.x > 0.5) if solved.success else None


def _maximal(reaches: NDArray[np.bool_]) -> Rows:
    """Return the rows that reach more than any row kept before; the largest must come first."""
    words = _words(reaches)
    _, first = np.unique(words, axis=0, return_index=True)
    kept: list[int] = []
    front = np.empty_like(words)
    for row in np.sort(first):
        mask = words[row]
        if not ((front[: len(kept)] & mask) == mask).all(axis=1).any():
            front[len(kept)] = mask
            kept.append(int(row))
    return np.array(kept, dtype=np.int64)


def _words(reaches: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack each row into 64-bit words, so that subsets are found by one operation a word."""
    rows, columns = reaches.shape
    padded = np.zeros((rows, -(-columns // 64) * 64), dtype=bool)
    padded[:, :columns] = reaches
    return np.packbits(padded, axis=1).view(np.uint64)


def _greedily(sets: NDArray[np.bool_]) -> Rows:
    """Take the row that reaches most of what is left, until nothing is."""
    left = np.ones(sets.shape[1], dtype=bool)
    chosen: list[int] = []
    while left.any():
        chosen.append(int((sets & left).sum(axis=1).argmax()))
        left &= ~sets[chosen[-1]]
    return np.array(chosen, dtype=np.int64)
