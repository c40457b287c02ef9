"""Turns the fresh rounds of a playoff into a ranking with intervals, ties and odds; NumPy only.

Rounds are paired: clocks and temperature move between them, so configs are compared within a round.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autotune_lab.records import FLAG_LAUNCH_BOUND, Measurement, Phase, Trial, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.store.plausible import is_time

RESAMPLES = 2000
TIE_PROBABILITY = 0.05
FEWEST_ROUNDS = 3

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds that every contender finished.

    Attributes:
        contenders: correct trials, in the order of the columns.
        times_ms: (rounds, contenders) float64, no gaps.
    """

    contenders: tuple[Trial, ...]
    times_ms: Matrix


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one config stands.

    Attributes:
        median_ms, low_ms, high_ms: median over rounds and its 95% interval.
        ratio, ratio_low, ratio_high: median over rounds of its time over the fastest config's.
        best_probability: share of resampled sets of rounds in which its median is the smallest;
            None without rounds.
        is_tied: the rounds can't tell it from the fastest.
        is_launch_bound: shorter than a launch, so that events can't rank it.
    """

    config: Config
    median_ms: float
    low_ms: float
    high_ms: float
    ratio: float
    ratio_low: float
    ratio_high: float
    best_probability: float | None
    is_tied: bool
    is_launch_bound: bool


def complete_rounds(trials: Sequence[Trial], numbers: frozenset[int] | None = None) -> Rounds:
    """Gather the playoff rounds of correct trials; disturbed measurements do not count.

    Those seen in the latest rounds come first; one that leaves fewer than three common rounds is
    let go.

    Args:
        trials: all of one context.
        numbers: the rounds to use, all by default.
    """
    found = [
        (trial, times)
        for trial in trials
        if trial.state is TrialState.OK and (times := _times_by_round(trial, numbers))
    ]
    found.sort(key=lambda entry: (-max(entry[1]), -len(entry[1]), entry[0].config.id))
    wanted = min(FEWEST_ROUNDS, len(found[0][1])) if found else 0
    common: set[int] = set()
    kept: list[tuple[Trial, dict[int, float]]] = []
    for trial, times in found:
        shared = common & times.keys() if kept else set(times)
        if len(shared) >= wanted:
            common = shared
            kept.append((trial, times))
    order = sorted(common)
    matrix = np.array([[times[number] for _, times in kept] for number in order], dtype=np.float64)
    return Rounds(tuple(trial for trial, _ in kept), matrix.reshape(len(order), len(kept)))


def rank(rounds: Rounds, *, floor_ms: float | None = None, seed: int = 0) -> list[Standing]:
    """Rank the contenders by their median over rounds, fastest first.

    One is tied with the fastest when any of three holds: the 95% bootstrap interval (percentile
    method, Efron 1979) of its median per-round ratio to the fastest includes 1; that ratio is
    within the noise floor; or it has the smallest median in 5% of the resampled sets of rounds.

    Args:
        rounds: what was measured.
        floor_ms: time of an empty kernel by the same timer.
        seed: of the bootstrap.
    """
    if not rounds.contenders:
        return []
    medians = np.median(rounds.times_ms, axis=0)
    order = np.lexsort((np.array([trial.config.id for trial in rounds.contenders]), medians))
    times_ms, medians = rounds.times_ms[:, order], medians[order]
    ratios = times_ms / times_ms[:, :1]
    draws = np.random.default_rng(seed).integers(len(times_ms), size=(RESAMPLES, len(times_ms)))
    resampled = np.median(times_ms[draws], axis=1)
    wins = np.bincount(resampled.argmin(axis=1), minlength=len(order)) / RESAMPLES
    low_ms, high_ms = np.quantile(resampled, (0.025, 0.975), axis=0)
    ratio = np.median(ratios, axis=0)
    ratio_low, ratio_high = np.quantile(np.median(ratios[draws], axis=1), (0.025, 0.975), axis=0)
    tied = (ratio_low <= 1) | (ratio - 1 <= noise_floor(times_ms)) | (wins >= TIE_PROBABILITY)
    return [
        Standing(
            config=rounds.contenders[column].config,
            median_ms=float(medians[place]),
            low_ms=float(low_ms[place]),
            high_ms=float(high_ms[place]),
            ratio=float(ratio[place]),
            ratio_low=float(ratio_low[place]),
            ratio_high=float(ratio_high[place]),
            best_probability=float(wins[place]),
            is_tied=bool(tied[place]),
            is_launch_bound=is_launch_bound(
                rounds.contenders[column], float(medians[place]), floor_ms
            ),
        )
        for place, column in enumerate(order)
    ]


def noise_floor(times_ms: Matrix) -> float:
    """Return the relative difference of two medians over rounds that noise alone makes in 95%.

    Common drift is divided out. Spread is 1.4826 times the median absolute deviation of a config's
    times, each over the median of its round; a median of n values then has a standard error of
    1.2533 spread / sqrt(n), and a difference of two sqrt(2) times that.

    Args:
        times_ms: (rounds, configs).
    """
    if times_ms.shape[0] < 2 or times_ms.shape[1] < 2:
        return 0.0
    relative = times_ms / np.median(times_ms, axis=1, keepdims=True)
    relative /= np.median(relative, axis=0)
    spread = 1.4826 * float(np.median(np.abs(relative - 1)))
    return 1.96 * 1.2533 * spread * math.sqrt(2 / times_ms.shape[0])


def is_launch_bound(trial: Trial, median_ms: float, floor_ms: float | None) -> bool:
    """Say whether a launch takes longer than the kernel: its time is below twice the floor.

    Where the floor is not known, most of its measurements must have been flagged so.
    """
    if floor_ms is not None:
        return median_ms < 2 * floor_ms
    flagged = [FLAG_LAUNCH_BOUND in m.flags for m in trial.measurements if m.is_eligible]
    return sum(flagged) > len(flagged) / 2


def _times_by_round(trial: Trial, numbers: frozenset[int] | None) -> dict[int, float]:
    return {
        m.round: m.median_ms
        for m in trial.measurements
        if is_playoff(m, numbers) and m.is_eligible and is_time(m.median_ms)
    }


def is_playoff(measurement: Measurement, numbers: frozenset[int] | None) -> bool:
    """Say whether a measurement belongs to one of the rounds asked for."""
    is_named = numbers is None or measurement.round in numbers
    return measurement.phase is Phase.PLAYOFF and measurement.round > 0 and is_named
