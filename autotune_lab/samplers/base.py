"""The contract of a sampler plug-in: ``samplers/<name>.py`` with ``create(seed) -> Sampler``.

``Ledger`` is what every sampler needs beside it: which rows were tried, and how it went.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autotune_lab.records import TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace


@dataclass(frozen=True, slots=True)
class Observation:
    """What became of one config; ``time_ms`` only where it ran correctly (``ok`` or ``pruned``)."""

    config: Config
    state: TrialState
    time_ms: float | None = None
    features: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PriorTask:
    """What another context measured of the same kernel: another GPU, problem, Triton or source.

    Attributes:
        configs: configs tried there; those that this space does not hold are ignored.
        times_ms: one time for each config, None where it failed.
        label: where it comes from, for messages.
    """

    configs: Sequence[Config]
    times_ms: Sequence[float | None]
    label: str = ""


class Sampler(Protocol):
    """Proposes configs; bound to one context by its first call.

    Obligations: only valid configs of the space; never one that is in ``history`` or was proposed
    before and is still pending; an empty list means that nothing worth trying is left, and an
    attribute ``stopped_because`` may then say why. The same seed and the same history give the same
    proposals. A sampler may keep a cursor into ``history``, which only grows.
    """

    def propose(
        self,
        space: BoundSpace,
        history: Sequence[Observation],
        pending: Sequence[Config],
        count: int,
    ) -> list[Config]:
        """Return up to ``count`` configs that are neither in ``history`` nor in ``pending``."""


EXHAUSTED = "every valid config of the space has been tried"


class Ledger:
    """The history of one context as arrays over the rows of one space, read incrementally.

    Attributes:
        tried: (size,) bool, rows that are in the history, whatever became of them.
        rows: row of each informative observation, oldest first.
        times_ms: its time; NaN where the config failed.
    """

    def __init__(self, space: BoundSpace) -> None:
        self.space = space
        self.tried: NDArray[np.bool_] = np.zeros(space.size, dtype=bool)
        self.rows: list[int] = []
        self.times_ms: list[float] = []
        self._cursor = 0

    def read(self, history: Sequence[Observation]) -> None:
        """Take in what was added to ``history`` since the last call."""
        for observation in history[self._cursor :]:
            if observation.config not in self.space:
                continue
            row = self.space.index(observation.config)
            self.tried[row] = True
            if observation.state.is_failure:
                self._note(row, float("nan"))
            elif observation.time_ms is not None:
                self._note(row, observation.time_ms)
        self._cursor = len(history)

    def untried(self, pending: Sequence[Config]) -> NDArray[np.bool_]:
        """Return (size,) bool: rows that may be proposed now."""
        free = ~self.tried
        free[[self.space.index(config) for config in pending if config in self.space]] = False
        return free

    def first_untried(
        self, order: Iterable[int], pending: Sequence[Config], count: int
    ) -> list[Config]:
        """Return the first ``count`` configs, in this order of rows, that may be proposed now."""
        waiting = {self.space.index(config) for config in pending if config in self.space}
        free = (int(row) for row in order if not self.tried[row] and row not in waiting)
        return [self.space.config(row) for row in itertools.islice(free, count)]

    def _note(self, row: int, time_ms: float) -> None:
        self.rows.append(row)
        self.times_ms.append(time_ms)
