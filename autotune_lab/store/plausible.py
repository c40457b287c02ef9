"""The last gate before a time becomes a number in the store: what is no time goes in as text.

The stages that measure judge times first; this holds whatever they let through, so that a NaN, a
negative or a zero time can never be the minimum of a query.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autotune_lab.records import Measurement, Outcome, Trial, TrialState

# One clock cycle of the fastest GPU takes 0.3 ns; no launch ends in a nanosecond.
SHORTEST_MS = 1e-6
LONGEST_MS = 1e12

_TIMED = (TrialState.OK, TrialState.PRUNED)


def is_time(value: Any) -> bool:
    """It is a real number of milliseconds that a launch can take."""
    if isinstance(value, bool | str | bytes) or value is None:
        return False
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return math.isfinite(number) and SHORTEST_MS <= number <= LONGEST_MS


def fault(measurement: Measurement) -> str | None:
    """Return the text of the first time in a measurement that is none; None if all are times."""
    for value in (measurement.median_ms, *measurement.samples_ms):
        if not is_time(value):
            return str(value)
    return None


def judged(outcome: Outcome) -> Outcome:
    """Return the outcome as it may be stored: no failure has a number, no bad time is ``ok``."""
    if outcome.state not in _TIMED:
        return replace(outcome, measurement=None) if outcome.measurement else outcome
    measured = () if outcome.measurement is None else (outcome.measurement,)
    bad = _first_fault(outcome.state, measured)
    if bad is None:
        return outcome
    return replace(
        outcome,
        state=TrialState.BAD_TIMING,
        reason=_reason(bad),
        raw_time=bad,
        measurement=None,
    )


def judged_trial(trial: Trial) -> Trial:
    """Do for a trial measured elsewhere what ``judged`` does for an outcome."""
    if trial.state not in _TIMED:
        return replace(trial, measurements=()) if trial.measurements else trial
    bad = _first_fault(trial.state, trial.measurements)
    if bad is None:
        return trial
    return replace(
        trial,
        state=TrialState.BAD_TIMING,
        reason=_reason(bad),
        raw_time=bad,
        measurements=(),
    )


def _first_fault(state: TrialState, measured: Sequence[Measurement]) -> str | None:
    if not measured and state is TrialState.OK:
        return str(None)
    return next((bad for bad in map(fault, measured) if bad is not None), None)


def _reason(bad: str) -> str:
    return f"the timer gave {bad}, which is not a time in ms"
