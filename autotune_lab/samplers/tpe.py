"""Optuna's multivariate TPE over the rows of a finite space.

Optuna knows neither constraints nor that a config is measured only once: what it asks for is moved
to the nearest row that is valid and untried. The study it looks at is in memory and bounded, so
that the cost of a suggestion does not grow with the history.
"""

import contextlib
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from autotune_lab.samplers.base import EXHAUSTED, Ledger, Observation
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace

STARTUP_TRIALS = 20
RANDOM_SHARE = (
    0.25  # of the later suggestions: TPE moved to the nearest row gets stuck (.90 -> .94)
)
BEST_KEPT, OTHERS_KEPT = 32, 96  # Optuna's "good" side is at most 25; an ask costs 7 ms at 128
FAILURE_FACTOR = 10.0  # failures are told as ten times the worst time: as FAIL, TPE seeks them out
NEAREST_AMONG = 20_000  # rows looked at for the nearest one: 1 ms, however large the space


class TPESampler:
    """Asks Optuna, answers with rows of the space."""

    def __init__(self, seed: int) -> None:
        self.stopped_because = ""
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._ledger: Ledger | None = None
        self._distributions: dict[str, BaseDistribution] = {}
        self._study: optuna.Study | None = None
        self._told = 0
        self._queue: list[int] = []

    def propose(
        self,
        space: BoundSpace,
        history: Sequence[Observation],
        pending: Sequence[Config],
        count: int,
    ) -> list[Config]:
        """Return up to ``count`` untried configs, near what TPE asks for."""
        ledger = self._ledger or self._bind(space)
        ledger.read(history)
        free = ledger.untried(pending)
        proposed: list[int] = []
        while len(proposed) < count and free.any():
            row = self._next(ledger, free)
            free[row] = False
            proposed.append(row)
        if not proposed and not pending:
            self.stopped_because = EXHAUSTED
        return [space.config(row) for row in proposed]

    def _bind(self, space: BoundSpace) -> Ledger:
        self._ledger = Ledger(space)
        for parameter in space.parameters:
            last = len(parameter.values) - 1
            self._distributions[parameter.name] = (
                IntDistribution(0, last)
                if parameter.ordered
                else CategoricalDistribution(list(range(last + 1)))
            )
        return self._ledger

    def _next(self, ledger: Ledger, free: NDArray[np.bool_]) -> int:
        """Return one free row: at random at first, then TPE's, of the queue where one waits."""
        while self._queue:
            row = self._queue.pop()
            if free[row]:
                return row
        if len(ledger.rows) < STARTUP_TRIALS or self._rng.random() < RANDOM_SHARE:
            return int(self._rng.choice(np.flatnonzero(free)))
        with _quiet_optuna():
            asked = self._refreshed(ledger).ask(self._distributions)
        codes = np.array([asked.params[name] for name in self._distributions])
        # One ask serves one suggestion of a young study and two of an old one: an ask costs 7 ms.
        row, *self._queue = self._nearest(codes, free, 1 if len(ledger.rows) < 256 else 2)
        return row

    def _refreshed(self, ledger: Ledger) -> optuna.Study:
        """Return a study of the best and some other observations, renewed as more come."""
        seen = len(ledger.rows)
        if self._study is not None and seen < self._told * 1.05 + 1:
            return self._study
        times = np.array(ledger.times_ms)
        worst = np.nanmax(times) if np.isfinite(times).any() else 1.0
        values = np.log(np.where(np.isfinite(times), times, worst * FAILURE_FACTOR))
        order = np.argsort(values, kind="stable")
        rest = order[BEST_KEPT:]
        others = self._rng.choice(rest, min(OTHERS_KEPT, len(rest)), replace=False)
        seed = int(self._rng.integers(2**31))
        sampler = optuna.samplers.TPESampler(multivariate=True, seed=seed, n_startup_trials=0)
        study = optuna.create_study(sampler=sampler)
        for i in sorted([*order[:BEST_KEPT], *others]):
            codes = ledger.space.codes[ledger.rows[i]]
            params = {name: int(c) for name, c in zip(self._distributions, codes, strict=True)}
            study.add_trial(
                optuna.trial.create_trial(
                    params=params, distributions=self._distributions, value=float(values[i])
                )
            )
        self._study, self._told = study, seen
        return study

    def _nearest(
        self, codes: NDArray[np.integer], free: NDArray[np.bool_], count: int
    ) -> list[int]:
        """Return the free rows closest to ``codes``: steps in ordered parameters, else 0 or 1."""
        assert self._ledger is not None
        space = self._ledger.space
        candidates = np.flatnonzero(free)
        if len(candidates) > NEAREST_AMONG:
            candidates = candidates[self._rng.integers(len(candidates), size=NEAREST_AMONG)]
        distance = 1e-6 * self._rng.random(len(candidates))  # ties fall at random
        for column, parameter in enumerate(space.parameters):
            steps = np.abs(space.codes[candidates, column].astype(np.int64) - codes[column])
            distance += (
                steps / max(1, len(parameter.values) - 1) if parameter.ordered else steps > 0
            )
        nearest = np.unique(candidates[np.argsort(distance, kind="stable")[:count]])
        return [int(row) for row in nearest]


@contextlib.contextmanager
def _quiet_optuna() -> Iterator[None]:
    """Keep Optuna from logging each renewed study, and from its warning about ``multivariate``."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)


def create(seed: int) -> TPESampler:
    """Return Optuna's multivariate TPE, made to fit a finite space."""
    return TPESampler(seed)
