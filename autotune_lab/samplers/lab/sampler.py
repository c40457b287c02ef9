"""The search: a spread-out start, then whatever the surrogate expects to improve most."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from autotune_lab.samplers.base import EXHAUSTED, Ledger, Observation, PriorTask
from autotune_lab.samplers.lab.acquisition import Acquisition
from autotune_lab.samplers.lab.encoding import Encoding, Rows
from autotune_lab.samplers.lab.feasibility import chance_to_run
from autotune_lab.samplers.lab.neighbourhood import Neighbourhood
from autotune_lab.samplers.lab.prior import Prior
from autotune_lab.samplers.lab.surrogate import Surrogate
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace

DESIGN = 12  # spread-out configs before the surrogate is asked
WARM_DESIGN = 4  # of them after the configs that won elsewhere
FEWEST_SUCCESSES = 4  # configs that must have run before the surrogate is asked
SPREAD_AMONG = 400  # random rows from which the one farthest from all others is taken
CENTRED_AMONG = 50  # of fewer, where the middle counts too: designs that differ by seed
CANDIDATES = 3000  # random rows that the surrogate looks at, beside those near the best
ELITES = 8  # best configs whose surroundings are always looked at
CLOSEST = 3  # of them whose surroundings are searched when the surrogate has nothing to offer
PATIENCE = 40  # trials without hope after which it stops: fewer lose 5% on the hardest tables

Mask = NDArray[np.bool_]


class LabSampler:
    """Bayesian optimisation over the rows of a finite space in which configs can fail."""

    def __init__(
        self, seed: int, prior: Sequence[PriorTask] = (), noise_floor: float | None = None
    ) -> None:
        self.stopped_because = ""
        self._prior = tuple(prior)
        self._seed = seed
        self._noise_floor = noise_floor
        self._rng = np.random.default_rng(seed)
        self._search: Search | None = None
        # Matrices of 256 rows are no work for threads: on busy cores they take 20 times as long.
        self._threads = ThreadpoolController()
        self._queue: list[int] = []
        self._hopeful_at = 0

    def propose(
        self,
        space: BoundSpace,
        history: Sequence[Observation],
        pending: Sequence[Config],
        count: int,
    ) -> list[Config]:
        """Return up to ``count`` untried configs; none when the search is over."""
        search = self._search = self._search or self._bind(space)
        search.ledger.read(history)
        free = search.ledger.untried(pending)
        rows = [row for row in self._queue if free[row]]
        free[rows] = False
        if len(rows) < count and not self._is_hopeless(search, len(history)):
            waiting = [space.index(config) for config in pending] + rows
            wanted = max(count - len(rows), _batch(len(history)))
            with self._threads.limit(limits=1, user_api="blas"):
                rows += search.next_rows(free, np.array(waiting, dtype=np.intp), wanted)
        self._queue = rows[count:]
        if not rows and not pending:
            self.stopped_because = self.stopped_because or EXHAUSTED
        return [space.config(row) for row in rows[:count]]

    def _bind(self, space: BoundSpace) -> "Search":
        encoding = Encoding(space)
        prior = Prior.of(self._prior, space, encoding, self._seed)
        self._prior = ()  # its configs may be many
        return Search(space, encoding, prior, self._rng)

    def _is_hopeless(self, search: "Search", trials: int) -> bool:
        """Stop after 40 trials without a row that was expected to gain half the noise floor."""
        if self._noise_floor is None:
            return False
        gain = search.expected_gain
        if gain is None or gain >= self._noise_floor / 2:
            self._hopeful_at = trials
        if gain is None or trials - self._hopeful_at < PATIENCE:
            return False
        self.stopped_because = (
            f"for {PATIENCE} trials no untried config was expected to gain half the noise floor of "
            f"{self._noise_floor:.2%}; now the best is expected to gain {gain:.2%}"
        )
        return True


class Search:
    """One space, what was tried of it, and the models that say where to look next.

    Attributes:
        ledger: the history over the rows of the space.
        expected_gain: relative gain expected of the best row of the latest prediction, if any.
    """

    def __init__(
        self, space: BoundSpace, encoding: Encoding, prior: Prior, rng: np.random.Generator
    ) -> None:
        self.ledger = Ledger(space)
        self.expected_gain: float | None = None
        self._rng = rng
        self._size = space.size
        self._encoding = encoding
        self._neighbourhood = Neighbourhood(space)
        self._surrogate = Surrogate(encoding, prior)
        self._starters = prior.starters
        self._design = len(prior.starters) + WARM_DESIGN if prior.starters else DESIGN

    def next_rows(self, free: Mask, waiting: Rows, count: int) -> list[int]:
        """Return up to ``count`` free rows, while the ``waiting`` ones are being measured."""
        successes = np.isfinite(self.ledger.times_ms).sum()
        started = len(self.ledger.rows) + len(waiting)
        if starters := [row for row in self._starters if free[row]]:
            return starters[:count]
        if successes >= FEWEST_SUCCESSES and started >= self._design:
            return self._promising(free, waiting, count)
        tried = np.r_[np.array(self.ledger.rows, dtype=np.intp), waiting]
        return self._spread_out(free, tried, min(count, max(1, self._design - started)))

    def _spread_out(self, free: Mask, tried: Rows, count: int) -> list[int]:
        """Return rows each of which is far from all those before it.

        In Triton's spaces also near the middle: the sizes that authors list reach to both sides of
        what is sensible, and the corners are too large for the GPU or too small to fill it.
        """
        chosen: list[int] = []
        among = CENTRED_AMONG if self._encoding.is_triton else SPREAD_AMONG
        for _ in range(count):
            candidates = self._sample(free, among)
            if not len(candidates):
                break
            points = self._encoding.places(candidates)
            merits = np.zeros(len(candidates))
            if len(tried):
                others = self._encoding.places(tried)
                merits += np.abs(points[:, None] - others[None]).sum(axis=2).min(axis=1)
            if self._encoding.is_triton:
                merits -= np.abs(points - self._encoding.centre).sum(axis=1)
            row = int(candidates[merits.argmax()])
            chosen.append(row)
            free[row] = False
            tried = np.append(tried, row)
        return chosen

    def _promising(self, free: Mask, waiting: Rows, count: int) -> list[int]:
        """Return the rows of the largest expected improvement, each given those before it."""
        order = np.argsort(self.ledger.times_ms)[:ELITES]  # NaN, a failure, comes last
        elite = np.array(self.ledger.rows)[order]
        near = [self._neighbourhood.around(row) for row in elite]
        beside = [self._neighbourhood.beside(row) for row in elite[:CLOSEST]]
        candidates = self._candidates(free, elite, np.concatenate(near))
        if not len(candidates):
            return []
        rows = np.r_[candidates, waiting]
        prediction = self._surrogate.predict(self.ledger, rows, self._rng)
        times = np.array(self.ledger.times_ms)
        tried = np.array(self.ledger.rows)
        chance = chance_to_run(self._encoding, tried, np.isfinite(times), candidates, self._rng)
        for position in range(len(candidates), len(rows)):
            prediction.assume(position)
        acquisition = Acquisition(
            prediction,
            chance,
            np.isin(candidates, np.concatenate(beside)),
            float(np.log(np.nanmin(self.ledger.times_ms))),
            turn=len(self.ledger.rows) + len(waiting),
        )
        self.expected_gain = acquisition.expected_gain
        taken = [acquisition.take() for _ in range(min(count, len(candidates)))]
        return [int(row) for row in candidates[taken]]

    def _candidates(self, free: Mask, elite: Rows, near: Rows) -> Rows:
        """Return free rows to look at: all, or random ones and those near the best."""
        if self._size <= CANDIDATES:
            return np.flatnonzero(free)
        mutants = self._neighbourhood.mutants(elite, self._rng, CANDIDATES // 6)
        rows: Rows = np.unique(np.concatenate([near, mutants, self._sample(free, CANDIDATES)]))
        return rows[free[rows]]

    def _sample(self, free: Mask, count: int) -> Rows:
        """Return up to ``count`` distinct free rows at random."""
        if self._size > 4 * count:
            rows = np.unique(self._rng.integers(self._size, size=count))
            if len(found := rows[free[rows]]) > count // 2:
                return self._rng.permutation(found)
        return self._rng.permutation(np.flatnonzero(free))[:count]


def _batch(tried: int) -> int:
    """Return how many rows one prediction should serve: the longer the history, the more."""
    return 1 if tried < 40 else 2 if tried < 200 else 4
