"""Uniform random search without repeats: the baseline that every other sampler must beat."""

from collections.abc import Sequence

import numpy as np

from autotune_lab.samplers.base import EXHAUSTED, Ledger, Observation
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace


class RandomSampler:
    """Follows one random permutation of the rows, so a resumed study goes on where it stopped."""

    def __init__(self, seed: int) -> None:
        self.stopped_because = ""
        self._seed = seed
        self._ledger: Ledger | None = None
        self._order = np.empty(0, dtype=np.intp)
        self._start = 0

    def propose(
        self,
        space: BoundSpace,
        history: Sequence[Observation],
        pending: Sequence[Config],
        count: int,
    ) -> list[Config]:
        """Return the next ``count`` untried configs of the permutation."""
        if self._ledger is None:
            self._ledger = Ledger(space)
            self._order = np.random.default_rng(self._seed).permutation(space.size)
        self._ledger.read(history)
        while self._start < space.size and self._ledger.tried[self._order[self._start]]:
            self._start += 1
        configs = self._ledger.first_untried(self._order[self._start :], pending, count)
        if not configs and not pending:
            self.stopped_because = EXHAUSTED
        return configs


def create(seed: int) -> RandomSampler:
    """Return a sampler whose order is a function of ``seed`` and the size of the space."""
    return RandomSampler(seed)
