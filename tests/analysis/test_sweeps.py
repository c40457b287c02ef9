"""A sweep's table, with numbers computed by hand."""

import math

import pytest

from autotune_lab.analysis.sweeps import Series, sweep_table
from autotune_lab.records import Measurement, Phase, Trial, TrialState
from autotune_lab.spaces.config import Config


def trial(value, *medians, state=TrialState.OK, reason="", first=5.0):
    looks = [Measurement(Phase.SWEEP, (first,) * 3, first, 4.0, 6.0)]
    rounds = [
        Measurement(Phase.SWEEP, (median,), median, round=number)
        for number, median in enumerate(medians, start=1)
    ]
    held = () if state.is_failure else (*looks, *rounds)
    return Trial("c", Config(B=value, w=4), state, reason=reason, measurements=held)


def table(trials, *, values=None, **changes):
    configs = {v: Config(B=v, w=4) for v in values or [t.config["B"] for t in trials]}
    series = Series("c", "n=1", None, configs, **{"held": 2, **changes})
    return sweep_table("B", [series], {"c": trials}).set_index("value")


def test_times_are_medians_over_rounds_with_the_interval_of_order_statistics():
    found = table([trial(1, 2, 4, 3, 5, 1, 6, 9, 8, 7), trial(2, *[10.0] * 9)])
    # Nine rounds: the second and the eighth smallest cover the median with 96%.
    assert tuple(found.loc[1, ["median_ms", "low_ms", "high_ms"]]) == (5.0, 2.0, 8.0)
    assert found.loc[1, "rounds"] == 9
    assert found.loc[2, "efficiency"] == 0.5
    assert found.loc[1, "efficiency_low"] == 5.0 / 8.0
    assert found.loc[1, "efficiency_high"] == 2.5


def test_what_can_not_be_told_apart_is_tied():
    found = table([trial(1, *range(1, 10)), trial(2, *range(4, 13)), trial(3, *range(100, 109))])
    assert list(found["is_best"]) == [True, False, False]
    assert list(found["is_tied"]) == [True, True, False]
    assert list(found["is_held"]) == [False, True, False]


def test_fewer_than_six_rounds_have_no_interval_and_none_at_all_the_first_looks():
    found = table([trial(1, 2.0, 3.0, 4.0), trial(2, first=5.0)])
    assert found.loc[1, "median_ms"] == 3.0
    assert math.isnan(found.loc[1, "low_ms"])
    assert (found.loc[2, "median_ms"], found.loc[2, "low_ms"], found.loc[2, "rounds"]) == (5, 4, 0)


def test_disturbed_rounds_are_left_out():
    one = trial(1, *[2.0] * 6)
    disturbed = Measurement(Phase.SWEEP, (90.0,), 90.0, round=7, flags=("throttled",))
    noisy = Trial("c", one.config, one.state, measurements=(*one.measurements, disturbed))
    found = table([noisy])
    assert (found.loc[1, "rounds"], found.loc[1, "median_ms"]) == (6, 2.0)


def test_what_does_not_run_is_not_valid_or_is_not_there_has_a_reason_and_no_time():
    failed = trial(1, state=TrialState.OUT_OF_RESOURCES, reason="shared memory")
    found = table([failed, trial(2, *[1.0] * 6)], values=[1, 2, 3], rejected={4: "B <= 3"})
    assert found.loc[1, "state"] == "out_of_resources"
    assert found.loc[1, "reason"] == "shared memory"
    assert tuple(found.loc[[3, 4], "state"]) == ("not measured", "not valid")
    assert found.loc[4, "reason"] == "B <= 3"
    assert found["median_ms"].notna().sum() == 1
    assert found["efficiency"].isna().sum() == 3


def test_nothing_that_runs_has_no_best():
    found = table([trial(1, state=TrialState.CRASHED)])
    assert not found["is_best"].any()
    assert not found["is_tied"].any()


def test_each_problem_is_held_against_its_own_best():
    configs = {v: Config(B=v, w=4) for v in (1, 2)}
    series = [Series(name, name, n, configs, 1) for n, name in ((7, "small"), (9, "large"))]
    trials = {
        "small": [trial(1, *[1.0] * 6), trial(2, *[2.0] * 6)],
        "large": [trial(1, *[30.0] * 6), trial(2, *[10.0] * 6)],
    }
    found = sweep_table("B", series, trials)
    assert list(found["over"]) == [7, 7, 9, 9]
    assert list(found["efficiency"]) == pytest.approx([1.0, 0.5, 1 / 3, 1.0])


def test_numbers_are_in_order_and_keep_their_type():
    found = table([trial(v, *[1.0] * 6) for v in (128, 16, 64)])
    assert list(found.index) == [16, 64, 128]
    assert all(type(value) is int for value in found.index)


def test_true_is_not_one():
    held = Series("c", "p", None, {True: Config(B=True, w=4)}, 1)
    (row,) = sweep_table("B", [held], {}).to_dict("records")
    assert row["is_held"] is False
