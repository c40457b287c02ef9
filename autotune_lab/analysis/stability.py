"""Says whether runs of one context agree on the winner; needs no frame.

A winner that changes between runs among configs that can't be told apart is a tie and says nothing
about overfitting.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autotune_lab.records import Pick


@dataclass(frozen=True, slots=True)
class Run:
    """What one run found.

    Attributes:
        winner: config id.
        tied: ids of the configs that it could not tell from the winner.
        times_ms: config id -> its time in this run.
    """

    winner: str
    tied: frozenset[str] = frozenset()
    times_ms: Mapping[str, float] | None = None

    @classmethod
    def of(cls, pick: Pick, times_ms: Mapping[str, float] | None = None) -> "Run":
        """Return the run that ended in a pick."""
        return cls(pick.config.id, frozenset(pick.tied), times_ms)


@dataclass(frozen=True, slots=True)
class Stability:
    """How far runs agree.

    Attributes:
        winners: config id -> how many runs it won, most first.
        regret_low, regret_high: what the winners lose against the best of the pooled times, as a
            share of it; None where times were not given for all of them.
        is_tie: the winners changed, and each run that measured another's winner was tied with it.
        time_range: largest over smallest time of a run's winner in its own run, minus 1.
    """

    runs: int
    winners: dict[str, int]
    regret_low: float | None
    regret_high: float | None
    is_tie: bool
    time_range: float | None

    @property
    def agreement(self) -> int:
        """Return how many runs the most frequent winner won."""
        return max(self.winners.values(), default=0)

    @property
    def is_stable(self) -> bool:
        """All runs had one winner."""
        return len(self.winners) == 1

    @property
    def flip_rate(self) -> float:
        """Return the share of runs that another config won than the most frequent winner."""
        return 1 - self.agreement / self.runs if self.runs else 0.0

    @property
    def verdict(self) -> str:
        """Say it in words."""
        if not self.runs:
            return "no runs"
        count = f"{self.agreement} of {self.runs}"
        if self.runs == 1:
            return "one run, so stability is unknown"
        if self.is_stable:
            return f"stable, {count}"
        regret = ""
        if self.regret_low is not None and self.regret_high is not None:
            regret = f", regret {self.regret_low:.1%} to {self.regret_high:.1%}"
        kind = "tie, winner changed" if self.is_tie else "winner changed"
        return f"{kind} between runs, agreement {count}{regret}"


def stability(runs: Sequence[Run], *, noise: float = 0.0) -> Stability:
    """Compare the winners of several runs of one context.

    Args:
        runs: each with its winner, ties and times.
        noise: relative difference that counts as none (``noise.floors``).
    """
    counted = Counter(run.winner for run in runs)
    winners = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
    pooled = _pooled(runs)
    best_ms = min(pooled.values(), default=None)
    regrets = [pooled[winner] / best_ms - 1 for winner in winners if winner in pooled and best_ms]
    is_complete = bool(regrets) and len(regrets) == len(winners)
    own = [run.times_ms[run.winner] for run in runs if run.times_ms and run.winner in run.times_ms]
    return Stability(
        runs=len(runs),
        winners=winners,
        regret_low=min(regrets) if is_complete else None,
        regret_high=max(regrets) if is_complete else None,
        is_tie=len(winners) > 1 and _is_tie(runs, list(winners), noise),
        time_range=max(own) / min(own) - 1 if len(own) > 1 else None,
    )


def _pooled(runs: Sequence[Run]) -> dict[str, float]:
    """Return the median over runs of each config's time over the run's median for all of them.

    Runs differ in clocks, so each is scaled by the configs that all runs measured.
    """
    timed = [run.times_ms for run in runs if run.times_ms]
    if not timed:
        return {}
    shared = sorted(set.intersection(*(set(times) for times in timed)))
    if not shared:
        return {}
    scales = [float(np.median([times[name] for name in shared])) for times in timed]
    names = sorted(set().union(*timed))
    return {
        name: float(
            np.median(
                [
                    times[name] / scale
                    for times, scale in zip(timed, scales, strict=True)
                    if name in times
                ]
            )
        )
        for name in names
    }


def _is_tie(runs: Sequence[Run], winners: Sequence[str], noise: float) -> bool:
    """Say whether no run could tell its own winner from the others that it measured."""
    for run in runs:
        for other in winners:
            if other == run.winner or other in run.tied:
                continue
            if not run.times_ms or other not in run.times_ms:
                return False
            if run.times_ms[other] / run.times_ms[run.winner] - 1 > noise:
                return False
    return True
