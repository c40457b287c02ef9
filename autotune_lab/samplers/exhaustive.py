"""Every valid config once, in the order in which the space declares them."""

from collections.abc import Sequence

from autotune_lab.samplers.base import EXHAUSTED, Ledger, Observation
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace


class ExhaustiveSampler:
    """Walks the space from its first row to its last."""

    def __init__(self) -> None:
        self.stopped_because = ""
        self._ledger: Ledger | None = None
        self._start = 0

    def propose(
        self,
        space: BoundSpace,
        history: Sequence[Observation],
        pending: Sequence[Config],
        count: int,
    ) -> list[Config]:
        """Return the first ``count`` configs not tried yet."""
        if self._ledger is None:
            self._ledger = Ledger(space)
        self._ledger.read(history)
        while self._start < space.size and self._ledger.tried[self._start]:
            self._start += 1
        configs = self._ledger.first_untried(range(self._start, space.size), pending, count)
        if not configs and not pending:
            self.stopped_because = EXHAUSTED
        return configs


def create(seed: int) -> ExhaustiveSampler:  # noqa: ARG001 -- the contract's signature
    """Return a sampler that needs no seed."""
    return ExhaustiveSampler()
