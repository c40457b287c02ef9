"""Tells the units of one device model apart: which card is slower or faster than its like.

Cards are compared only by configs that several of them measured, in playoff rounds and
calibrations; each round is whole on one card. Needs NumPy only, because the tuner calls it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from autotune_lab.records import Phase, Trial

NEGLIGIBLE = 0.01
ODD = 0.10
FEWEST_TO_JUDGE = 3
SHARED_PHASES = (Phase.PLAYOFF, Phase.CALIBRATION)

_CONFIDENCE = 0.99
_PASSES = 8


@dataclass(frozen=True, slots=True)
class Taken:
    """One time of one config on one unit; ``round`` names what was measured together with it."""

    unit: str
    round: str
    config: str
    time_ms: float


@dataclass(frozen=True, slots=True)
class Level:
    """How a unit stands to its like.

    Attributes:
        ratio: its times over those of the typical unit (the median one; of two, the other).
        low, high: 99% interval of the ratio; NaN where no unit measured two rounds.
        rounds, configs: what it rests on.
        is_systematic: the interval excludes 1, and the ratio is off by more than 1%.
    """

    unit: str
    ratio: float
    low: float
    high: float
    rounds: int
    configs: int
    is_systematic: bool

    @property
    def is_odd(self) -> bool:
        """It differs by more than 10%, so that its times are not to be believed."""
        return self.is_systematic and abs(math.log(self.ratio)) > math.log(1 + ODD)


def levels(taken: Iterable[Taken]) -> list[Level]:
    """Return the level of each unit, sorted by unit; none unless two units share a config.

    The logarithm of a time is that of its config plus the level of its round, both found as
    medians in turns (Tukey's median polish, 1977). A unit's level is the mean over its rounds; the
    spread of rounds within units, pooled, gives Student's interval of the difference.
    """
    rows = _shared([entry for entry in taken if entry.time_ms > 0])
    if not rows:
        return []
    rounds, units = _round_levels(rows)
    names = sorted(set(units))
    by_unit = {
        name: np.array([rounds[i] for i, unit in enumerate(units) if unit == name])
        for name in names
    }
    counts = {name: len(values) for name, values in by_unit.items()}
    means = {name: float(values.mean()) for name, values in by_unit.items()}
    freedom = sum(counts.values()) - len(names)
    squares = sum(float(((by_unit[n] - means[n]) ** 2).sum()) for n in names)
    variance = squares / freedom if freedom else math.nan
    reach = float(stdtrit(freedom, (1 + _CONFIDENCE) / 2)) if freedom else math.nan
    configs = {n: len({r.config for r in rows if r.unit == n}) for n in names}
    found = []
    for name in names:
        others = [other for other in names if other != name]
        if len(names) == 2:
            typical, doubt = means[others[0]], 1 / counts[others[0]]
        else:
            typical = float(np.median(list(means.values())))
            doubt = math.pi / 2 / sum(counts.values())  # of a median, for normal noise
        difference = means[name] - typical
        half = reach * math.sqrt(variance * (1 / counts[name] + doubt))
        low, high = math.exp(difference - half), math.exp(difference + half)
        is_far = abs(difference) > math.log(1 + NEGLIGIBLE)
        found.append(
            Level(
                unit=name,
                ratio=math.exp(difference),
                low=low,
                high=high,
                rounds=counts[name],
                configs=configs[name],
                is_systematic=is_far and (low > 1 or high < 1),
            )
        )
    return found


def of_trials(trials: Iterable[Trial]) -> list[Level]:
    """Return the levels of the units that measured one context."""
    return levels(
        Taken(
            unit=measurement.device_uuid or trial.device_uuid,
            round=f"{measurement.phase}:{measurement.round}",
            config=trial.config.id,
            time_ms=measurement.median_ms,
        )
        for trial in trials
        for measurement in trial.measurements
        if measurement.phase in SHARED_PHASES and measurement.round and measurement.is_eligible
    )


def corrections(found: Sequence[Level]) -> Mapping[str, float]:
    """Return by what the times of each unit that differs must be divided to be comparable."""
    # Of two units nobody knows which one is typical: each is moved half the way.
    power = 0.5 if len(found) == 2 else 1.0
    return {level.unit: level.ratio**power for level in found if level.is_systematic}


def set_aside(found: Sequence[Level]) -> frozenset[str]:
    """Name the units that measure no more here: far off, where three can say which one it is."""
    if len(found) < FEWEST_TO_JUDGE:
        return frozenset()
    return frozenset(level.unit for level in found if level.is_odd)


def _shared(rows: list[Taken]) -> list[Taken]:
    """Return the times of the configs that more than one unit measured."""
    where: dict[str, set[str]] = {}
    for row in rows:
        where.setdefault(row.config, set()).add(row.unit)
    return [row for row in rows if len(where[row.config]) > 1]


def _round_levels(rows: list[Taken]) -> tuple[NDArray[np.float64], list[str]]:
    """Return the level of each round, a logarithm, and the unit that measured it."""
    logs = np.log([row.time_ms for row in rows])
    names = {name: place for place, name in enumerate(dict.fromkeys(r.config for r in rows))}
    keys = {key: place for place, key in enumerate(dict.fromkeys((r.unit, r.round) for r in rows))}
    config_of = np.array([names[row.config] for row in rows])
    round_of = np.array([keys[row.unit, row.round] for row in rows])
    of_rounds = np.zeros(len(keys))
    for _ in range(_PASSES):
        of_configs = _medians(logs - of_rounds[round_of], config_of, len(names))
        of_rounds = _medians(logs - of_configs[config_of], round_of, len(keys))
    return of_rounds, [unit for unit, _ in keys]


def _medians(
    values: NDArray[np.float64], group_of: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    order = np.argsort(group_of, kind="stable")
    ends = np.cumsum(np.bincount(group_of, minlength=groups))[:-1]
    return np.array([float(np.median(part)) for part in np.split(values[order], ends)])
