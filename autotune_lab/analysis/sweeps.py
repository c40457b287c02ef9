"""Reads a one-parameter sweep: what each value of a parameter is worth, with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.analysis.parameters import as_declared
from autotune_lab.measuring.statistics import Interval, median_interval
from autotune_lab.records import Measurement, Phase, Trial, TrialState
from autotune_lab.spaces.config import Config

COLUMNS = [
    "context_id", "problem", "over", "parameter", "value", "config", "state", "reason",
    "median_ms", "low_ms", "high_ms", "rounds", "efficiency", "efficiency_low", "efficiency_high",
    "is_held", "is_best", "is_tied",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Series:
    """The sweep of one problem.

    Attributes:
        problem: its text; ``over`` is the value of the field that is swept beside the parameter.
        configs: value of the parameter -> its config; the other parameters are held.
        held: the value that the held config has.
        rejected: value -> why its config is not valid here.
    """

    context_id: str
    problem: str
    over: Any
    configs: Mapping[Any, Config]
    held: Any
    rejected: Mapping[Any, str] = field(default_factory=dict)


def sweep_table(
    parameter: str, series: Sequence[Series], trials: Mapping[str, Sequence[Trial]]
) -> pd.DataFrame:
    """Return one row for each value and problem.

    Args:
        parameter: its name.
        series: one for each problem.
        trials: context id -> its trials.

    Returns:
        columns: ``COLUMNS``. Times are medians over the rounds of the sweep, with the 95% interval
        of the median, efficiencies against the best of the series. ``is_tied``: its interval meets
        that of the best, so the two can't be told apart. What did not run, or is not valid, has a
        reason and no time.
    """
    rows: list[dict[str, Any]] = []
    for one in series:
        known = {trial.config.id: trial for trial in trials.get(one.context_id, ())}
        part = [_row(parameter, one, value, known) for value in (*one.configs, *one.rejected)]
        part.sort(key=_place)
        rows += _compared(part)
    return as_declared(rows, COLUMNS, "over", "value", "config")


def _row(parameter: str, series: Series, value: Any, known: Mapping[str, Trial]) -> dict[str, Any]:
    config = series.configs.get(value)
    trial = known.get(config.id) if config is not None else None
    found, rounds = _time(trial) if trial is not None else (None, 0)
    missing = "not valid" if config is None else "not measured"
    return {
        "context_id": series.context_id,
        "problem": series.problem,
        "over": series.over,
        "parameter": parameter,
        "value": value,
        "config": config,
        "state": trial.state.value if trial else missing,
        "reason": trial.reason if trial else series.rejected.get(value, ""),
        "median_ms": found.median if found else np.nan,
        "low_ms": _number(found.low if found else None),
        "high_ms": _number(found.high if found else None),
        "rounds": rounds,
        "is_held": value == series.held and type(value) is type(series.held),
    }


def _time(trial: Trial) -> tuple[Interval | None, int]:
    """Return a trial's time over its sweep rounds; else that of its longest measurement."""
    if trial.state not in (TrialState.OK, TrialState.PRUNED) or not trial.measurements:
        return None, 0
    rounds = {m.round: m.median_ms for m in trial.measurements if _is_round(m)}
    if rounds:
        return median_interval(list(rounds.values())), len(rounds)
    longest = max(trial.measurements, key=lambda m: len(m.samples_ms))
    return Interval(longest.median_ms, longest.low_ms, longest.high_ms), 0


def _is_round(measurement: Measurement) -> bool:
    return measurement.phase is Phase.SWEEP and measurement.round > 0 and measurement.is_eligible


def _compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold each row of a series against the fastest."""
    timed = [row for row in rows if row["median_ms"] > 0]
    best = min(timed, key=lambda row: row["median_ms"], default=None)
    for row in rows:
        best_ms = best["median_ms"] if best else np.nan
        row["efficiency"] = best_ms / row["median_ms"]
        row["efficiency_low"] = best_ms / row["high_ms"]
        row["efficiency_high"] = best_ms / row["low_ms"]
        row["is_best"] = row is best
        row["is_tied"] = best is not None and (
            row is best or bool(row["low_ms"] <= best["high_ms"])
        )
    return rows


def _place(row: Mapping[str, Any]) -> tuple[bool, Any]:
    """Sort numbers by size, other values as their parameter lists them."""
    value = row["value"]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (False, value) if is_number else (True, 0)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
