"""Set cover: the fewest rows that together reach every column; by SciPy's MILP, else greedily."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

# (row, column) pairs up to which HiGHS solves a random cover within a second.
EXACT_CELLS = 6_000

Rows = NDArray[np.int64]


class Covering:
    """One table of which row reaches which column, asked for covers of several sizes.

    Rows that reach no more than another one are set aside first; of equals the worthiest stays.

    Args:
        reaches: (rows, columns) bool.
        worth: (rows,) which of two equal rows is preferred.
    """

    def __init__(self, reaches: NDArray[np.bool_], worth: NDArray[np.float64]) -> None:
        order = np.lexsort((-worth, -reaches.sum(axis=1)))
        self.rows: Rows = order[_maximal(reaches[order])]
        self.sets = reaches[self.rows]
        self.greedy = _greedily(self.sets)
        self.fewest: Rows | None = None
        self.is_exact = False

    def within(self, size: int) -> tuple[Rows | None, bool]:
        """Return a cover of at most a size, or None; and whether "None" is proven."""
        if self.greedy is not None and len(self.greedy) <= size:
            return self.rows[self.greedy], True
        largest_first = -np.sort(-self.sets.sum(axis=1))
        if self.greedy is None or largest_first[:size].sum() < self.sets.shape[1]:
            return None, True
        self._solve(self.greedy)
        if self.fewest is not None and len(self.fewest) <= size:
            return self.rows[self.fewest], True
        return None, self.is_exact

    def _solve(self, greedy: Rows) -> None:
        """Find the smallest cover once."""
        if self.fewest is not None:
            return
        self.fewest = greedy
        if self.sets.size <= EXACT_CELLS:
            solved = milp(
                c=np.ones(len(self.sets)),
                integrality=np.ones(len(self.sets)),
                bounds=Bounds(0, 1),
                constraints=LinearConstraint(csr_array(self.sets.T.astype(np.float64)), lb=1),
            )
            if solved.success:
                self.fewest, self.is_exact = np.flatnonzero(solved.x > 0.5), True


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


def _greedily(sets: NDArray[np.bool_]) -> Rows | None:
    """Take the row that reaches most of what is left, until nothing is; None if that can't be."""
    left = np.ones(sets.shape[1], dtype=bool)
    chosen: list[int] = []
    while left.any():
        gains = (sets & left).sum(axis=1)
        if not gains.max(initial=0):
            return None
        chosen.append(int(gains.argmax()))
        left &= ~sets[chosen[-1]]
    return np.array(chosen, dtype=np.int64)
