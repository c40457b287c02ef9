"""Rows near a row, found by arithmetic on codes: no space of 10^6 rows is searched or copied."""

import numpy as np
from numpy.typing import NDArray

from autotune_lab.samplers.lab.encoding import Rows
from autotune_lab.spaces.space import BoundSpace

Codes = NDArray[np.int64]


class Neighbourhood:
    """Finds rows by their codes, through one sorted number for each row."""

    def __init__(self, space: BoundSpace) -> None:
        self._codes = space.codes
        self._counts = np.array([len(parameter.values) for parameter in space.parameters])
        self._ordered = np.array([parameter.ordered for parameter in space.parameters])
        # Mixed-radix numbers; above 2^64 combinations they wrap round, and rows are checked anyway.
        weights = np.ones(len(self._counts), dtype=np.uint64)
        weights[:-1] = np.cumprod(self._counts[:0:-1].astype(np.uint64))[::-1]
        self._weights = weights
        numbers = self._numbers(self._codes)
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    def around(self, row: int) -> Rows:
        """Return the rows that differ from ``row`` in one parameter, by however much."""
        own = self._codes[row].astype(np.int64)
        changed = []
        for column, count in enumerate(self._counts):
            others = np.repeat(own[None], count, axis=0)
            others[:, column] = np.arange(count)
            changed.append(np.delete(others, own[column], axis=0))
        return self._rows(np.vstack(changed))

    def beside(self, row: int) -> Rows:
        """Return the rows one step away: the next value of an ordered parameter, else any other."""
        rows = self.around(row)
        steps = np.abs(self._codes[rows].astype(np.int64) - self._codes[row])
        beside: Rows = rows[np.where(self._ordered, steps, 0).max(axis=1) <= 1]
        return beside

    def mutants(self, rows: Rows, rng: np.random.Generator, count: int) -> Rows:
        """Return rows that differ from one of ``rows`` in about two parameters, at most ``count``.

        Ordered parameters move by a step or two, others take any value.
        """
        codes = self._codes[rng.choice(rows, count)].astype(np.int64)
        steps = rng.integers(1, 3, codes.shape) * rng.choice([-1, 1], codes.shape)
        moved = np.where(self._ordered, codes + steps, rng.integers(self._counts, size=codes.shape))
        chosen = rng.random(codes.shape) < 2.0 / max(2, len(self._counts))
        codes = np.clip(np.where(chosen, moved, codes), 0, self._counts - 1)
        return self._rows(codes)

    def _numbers(self, codes: NDArray[np.integer]) -> NDArray[np.uint64]:
        numbers = np.zeros(len(codes), dtype=np.uint64)
        for column, weight in enumerate(self._weights):
            numbers += codes[:, column].astype(np.uint64) * weight
        return numbers

    def _rows(self, codes: Codes) -> Rows:
        """Return the rows of those codes that are valid, without repeats."""
        wanted = self._numbers(codes)
        places = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        rows = self._order[places]
        return np.unique(rows[(self._codes[rows] == codes).all(axis=1)])
