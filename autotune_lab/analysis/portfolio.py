"""Finds the fewest configs that serve every context: a few fit most.

Two objectives: the least worst-case loss (p-center) and the least mean loss (p-median), each
context served by the best member. Exact by SciPy's MILP where that is small, greedy with swaps
beyond.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from autotune_lab.analysis.covering import cover
from autotune_lab.analysis.matrix import Floats, TimeMatrix
from autotune_lab.spaces.config import Config

# (config, context) pairs up to which HiGHS solves a p-median in about a second.
EXACT_MEDIAN_CELLS = 1_500
NO_LOSS = 1e-12

Rows = NDArray[np.int64]


class Objective(enum.StrEnum):
    """What a portfolio of a given size makes as small as it can."""

    WORST = "worst"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Portfolio:
    """A set of configs, and what it loses when each context uses the best of them.

    Attributes:
        worst_loss, mean_loss: 1 - efficiency over the contexts; what is not known counts as 1.
        serves: for each context, the position in ``configs`` of the one that serves it.
        is_exact: no other set of this size has a smaller objective; else found greedily.
    """

    objective: Objective
    configs: tuple[Config, ...]
    worst_loss: float
    mean_loss: float
    serves: tuple[int, ...]
    is_exact: bool


def portfolios(
    matrix: TimeMatrix, objective: Objective = Objective.WORST, *, most: int = 8
) -> list[Portfolio]:
    """Return the best portfolios of 1, 2, 3, ... configs, until nothing is lost or ``most``.

    Args:
        matrix: of one kernel; contexts in which nothing ran must have been left out.
        objective: what is made small.
        most: largest size.
    """
    efficiency = np.nan_to_num(matrix.efficiency, nan=0.0)
    if not efficiency.size:
        return []
    search = _Centers(efficiency) if objective is Objective.WORST else _Medians(efficiency)
    found: list[Portfolio] = []
    for size in range(1, min(most, *efficiency.shape) + 1):
        rows, is_exact = search.best(size)
        served = efficiency[rows]
        found.append(
            Portfolio(
                objective=objective,
                configs=tuple(matrix.configs[row] for row in rows),
                worst_loss=float(1 - served.max(axis=0).min()),
                mean_loss=float(1 - served.max(axis=0).mean()),
                serves=tuple(int(position) for position in served.argmax(axis=0)),
                is_exact=is_exact,
            )
        )
        if found[-1].mean_loss < NO_LOSS:
            break
    return found


def smallest(found: list[Portfolio], loss: float) -> Portfolio | None:
    """Return the smallest portfolio that keeps every context within a loss; None if none does."""
    return next((portfolio for portfolio in found if portfolio.worst_loss <= loss), None)


class _Centers:
    """Least worst-case loss: swap until nothing gains, then prove it or be shown a better cover."""

    def __init__(self, efficiency: Floats) -> None:
        self.efficiency = efficiency
        self.levels = np.unique(efficiency)  # the worst efficiency of a set is one of these
        self.rows: Rows = np.array([], dtype=np.int64)

    def best(self, size: int) -> tuple[Rows, bool]:
        """Return the members of the best set of a size, and whether that is exact."""
        self.rows = _swap(self.efficiency, _fill(self.efficiency, self.rows, size), _by_worst)
        while True:
            worst = self.efficiency[self.rows].max(axis=0).min()
            above = int(np.searchsorted(self.levels, worst, side="right"))
            if above == len(self.levels):
                return self.rows, True
            reaches = self.efficiency >= self.levels[above]
            better, is_proven = cover(reaches, self.efficiency.mean(axis=1), size)
            if better is None:
                return self.rows, is_proven
            self.rows = _swap(self.efficiency, _fill(self.efficiency, better, size), _by_worst)


class _Medians:
    """Least mean loss."""

    def __init__(self, efficiency: Floats) -> None:
        self.efficiency = efficiency
        self.front = _front(efficiency, EXACT_MEDIAN_CELLS // efficiency.shape[1])

    def best(self, size: int) -> tuple[Rows, bool]:
        """Return the members of the best set of a size, and whether that is exact."""
        start = _fill(self.efficiency, np.array([], dtype=np.int64), size)
        if size > 1 and self.front is not None:
            rows = _median_exactly(self.efficiency[self.front], size)
            if rows is not None:
                return _fill(self.efficiency, self.front[rows], size), True
        return _swap(self.efficiency, start, _by_mean), size == 1


def _front(efficiency: Floats, most: int) -> Rows | None:
    """Return the rows that no other equals or beats everywhere; None if they are too many."""
    kept: list[int] = []
    front = np.empty((most, efficiency.shape[1]))
    for row in np.argsort(-efficiency.mean(axis=1), kind="stable"):
        if not (front[: len(kept)] >= efficiency[row]).all(axis=1).any():
            if len(kept) == most:
                return None
            front[len(kept)] = efficiency[row]
            kept.append(int(row))
    return np.array(kept, dtype=np.int64)


def _median_exactly(efficiency: Floats, size: int) -> Rows | None:
    """Solve p-median as a mixed integer program (ReVelle, Swain 1970); None if that fails.

    Variables: open[row], then served[row, context]; each context is served once, by an open row.
    """
    rows, contexts = efficiency.shape
    pairs = rows * contexts
    served_once = np.hstack([np.zeros((contexts, rows)), np.tile(np.eye(contexts), rows)])
    only_open = np.hstack([-np.repeat(np.eye(rows), contexts, axis=0), np.eye(pairs)])
    is_open = np.concatenate([np.ones(rows), np.zeros(pairs)])
    constraints: list[Any] = [
        LinearConstraint(csr_array(served_once), lb=1, ub=1),
        LinearConstraint(csr_array(only_open), ub=0),
        LinearConstraint(csr_array(is_open[None]), ub=size),
    ]
    solved = milp(
        c=np.concatenate([np.zeros(rows), (1 - efficiency).ravel()]),
        integrality=is_open,
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0.0},
    )
    return np.flatnonzero(solved.x[:rows] > 0.5) if solved.success else None


def _fill(efficiency: Floats, rows: Rows, size: int) -> Rows:
    """Add the row that gains most mean efficiency, until there are ``size`` or none gains."""
    chosen = [int(row) for row in rows]
    served = efficiency[chosen].max(axis=0, initial=0.0)
    while len(chosen) < size:
        means = np.maximum(efficiency, served).mean(axis=1)
        if chosen and means.max() <= served.mean():
            break
        chosen.append(int(means.argmax()))
        served = np.maximum(served, efficiency[chosen[-1]])
    return np.array(chosen, dtype=np.int64)


def _swap(efficiency: Floats, rows: Rows, judge: "Judge") -> Rows:
    """Exchange one member at a time while that is judged better."""
    chosen = rows.copy()
    best = judge(efficiency[chosen].max(axis=0)[None])[0]
    improved = True
    while improved:
        improved = False
        for position in range(len(chosen)):
            others = efficiency[np.delete(chosen, position)].max(axis=0, initial=0.0)
            judged = judge(np.maximum(efficiency, others))
            if judged.max() > best + NO_LOSS:
                chosen[position], best = int(judged.argmax()), judged.max()
                improved = True
    return chosen


Judge = Callable[[Floats], Floats]


def _by_mean(served: Floats) -> Floats:
    return cast("Floats", served.mean(axis=1))


def _by_worst(served: Floats) -> Floats:
    """Judge by the worst context; the mean decides between sets that are equal there."""
    return cast("Floats", served.min(axis=1) + 1e-9 * served.mean(axis=1))
