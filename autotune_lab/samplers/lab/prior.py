"""What other contexts say of this space: configs to try first, and a first guess at every row.

Each source is read as how much slower than its own best a config was there. Where it measured only
a part of the space, a forest of trees fills in the rest, once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from autotune_lab.samplers.base import PriorTask
from autotune_lab.samplers.lab.encoding import Encoding, Rows
from autotune_lab.samplers.lab.gaussian import Floats, Singles
from autotune_lab.samplers.lab.targets import capped_logarithms
from autotune_lab.spaces.space import BoundSpace

FEWEST_ROWS = 20  # a source that shares fewer rows with the space is not listened to
MOST_SOURCES = 8
STARTERS = 3  # configs tried first, and one more for each source
TREES, GROWN_ON = 50, 2000  # 0.4 s once; half of the rows that trees grow on are the fastest ones
CHUNK = 100_000


@dataclass(frozen=True, slots=True)
class Prior:
    """Sources that share rows with the space.

    Attributes:
        losses: (sources, size), logarithm of the time over the best there, slow ones cut off.
        starters: rows to try first, the most promising ones first.
    """

    losses: Singles
    starters: tuple[int, ...]

    @classmethod
    def of(
        cls, tasks: Sequence[PriorTask], space: BoundSpace, encoding: Encoding, seed: int
    ) -> "Prior":
        """Read what sources there are; those of fewer than 20 common rows are left out."""
        shared = [_shared(task, space) for task in tasks]
        useful = [
            (rows, times) for rows, times in shared if np.isfinite(times).sum() >= FEWEST_ROWS
        ]
        useful = sorted(useful, key=lambda source: -len(source[0]))[:MOST_SOURCES]
        losses = np.zeros((len(useful), space.size), dtype=np.float32)
        for source, (rows, times) in zip(losses, useful, strict=True):
            source[:] = _losses(rows, times, encoding, space.size, seed)
        return cls(losses, _starters(losses) if useful else ())


def _shared(task: PriorTask, space: BoundSpace) -> tuple[Rows, Floats]:
    """Return rows of the space and their times in the source, NaN where they failed."""
    rows, times = [], []
    for config, time_ms in zip(task.configs, task.times_ms, strict=True):
        if config in space:
            rows.append(space.index(config))
            times.append(np.nan if time_ms is None else time_ms)
    return np.array(rows, dtype=np.intp), np.array(times, dtype=np.float64)


def _losses(rows: Rows, times: Floats, encoding: Encoding, size: int, seed: int) -> Singles:
    """Return (size,) losses of one source, those not measured there as trees expect them."""
    targets = capped_logarithms(times)
    targets -= targets.min()
    losses = np.empty(size, dtype=np.float32)
    if len(rows) < size:
        rng = np.random.default_rng(seed)
        order = np.argsort(targets, kind="stable")
        best, others = order[: GROWN_ON // 2], order[GROWN_ON // 2 :]
        grown_on = np.r_[best, rng.permutation(others)[: GROWN_ON // 2]]
        forest = ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=seed)
        forest.fit(encoding.points(rows[grown_on]), targets[grown_on])
        for start in range(0, size, CHUNK):
            chunk = np.arange(start, min(start + CHUNK, size))
            losses[chunk] = forest.predict(encoding.points(chunk))
    losses[rows] = targets
    return losses


def _starters(losses: Singles) -> tuple[int, ...]:
    """Return rows of which some row is good in every source: each adds most to those before it."""
    chosen: list[int] = []
    reached = np.full(len(losses), losses.max(initial=1.0))
    mean = losses.mean(axis=0)
    for _ in range(STARTERS + len(losses)):
        left = np.minimum(losses, reached[:, None]).mean(axis=0)
        left[chosen] = np.inf
        # Once nothing is left to gain for any source, what is good on average goes on.
        row = int(np.lexsort((mean, left))[0])
        chosen.append(row)
        reached = np.minimum(reached, losses[:, row])
    return tuple(dict.fromkeys(chosen))
