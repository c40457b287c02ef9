"""A time that is none never wins, whoever asks and in whatever order they came."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from autotune_lab.records import TrialState
from autotune_lab.store import frames
from autotune_lab.store.plausible import fault, is_time, judged, judged_trial
from autotune_lab.store.query import Query
from tests.store.making import (
    MATMUL,
    context,
    failed,
    measure,
    measurement,
    ok,
    opened,
    query,
    trial,
)


@pytest.mark.parametrize(
    "value", [1e-6, 0.5, 3, np.float32(2.5), np.int64(4), Decimal("1.5"), 1e12]
)
def test_times(value):
    assert is_time(value)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, None, 1e-12, 1e13, "3.0", b"1", True, [], 1j,
     10**400, np.float64("nan"), Decimal("NaN")],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_what_is_no_time(value):
    assert not is_time(value)


def test_the_first_bad_time_of_a_measurement_is_named():
    assert fault(measurement(1.0)) is None
    assert fault(measurement(median_ms=-1.0)) == "-1.0"
    assert fault(measurement(1.0, samples_ms=(1.0, math.nan, -1.0))) == "nan"
    assert fault(measurement(1.0, samples_ms=())) is None


def test_what_is_sound_is_passed_on_as_it_is():
    for outcome in (ok(1.0), failed(TrialState.TIMEOUT), replace(ok(), state=TrialState.PRUNED)):
        assert judged(outcome) is outcome
    assert judged_trial(trial()) == trial()


def test_a_failure_loses_its_numbers_and_nothing_else():
    outcome = replace(ok(0.5), state=TrialState.WRONG_RESULT, reason="off by 0.1")
    assert judged(outcome) == replace(outcome, measurement=None)


@pytest.mark.parametrize("state", [TrialState.OK, TrialState.PRUNED])
def test_a_bad_time_keeps_what_else_was_learnt(state):
    outcome = replace(ok(math.nan), state=state)
    found = judged(outcome)
    assert (found.state, found.raw_time) == (TrialState.BAD_TIMING, "nan")
    assert (found.resources, found.launches) == (outcome.resources, outcome.launches)


def test_every_order_of_bad_times_gives_the_same_winner_to_sql_and_pandas(store, path):
    for position, times in enumerate(itertools.permutations([math.nan, -0.5, 0.0, 1.0])):
        run_id, context_id = opened(
            store, context(kernel=replace(MATMUL, code_hash=f"order {position}"))
        )
        for number, time_ms in enumerate(times):
            measure(store, run_id, context_id, number, ok(time_ms))
    everything = frames.trials(store, Query())
    assert len(everything) == 24 * 4
    for context_id, found in everything.groupby("context_id"):
        fastest = found.sort_values("time_ms").iloc[0]
        assert fastest["time_ms"] == found["time_ms"].min() == 1.0
        assert sorted(found["state"]) == ["bad_timing"] * 3 + ["ok"]
        sql = "SELECT config_id, MIN(time_ms) FROM trials WHERE context_id = ?"
        assert query(path, sql, context_id) == [(fastest["config_id"], 1.0)]
        best = min(
            (t for t in store.trials(context_id) if t.screen_ms is not None),
            key=lambda t: t.screen_ms,
        )
        assert best.config.id == fastest["config_id"]
