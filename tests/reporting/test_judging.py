import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.reporting.judging import Ruling, judge


def cell(run_on, loss, floor=0.01):
    state = {None: "not measured", "fails": "does not run"}.get(loss, "measured")
    number = {None: math.nan, "fails": 1.0}.get(loss, loss)
    return {"run_on": run_on, "state": state, "loss": number, "noise_floor": floor}


@pytest.mark.parametrize(
    ("losses", "ruling"),
    [
        ([0.02, 0.03], Ruling.PORTABLE),
        ([0.02, 0.39], Ruling.OVERFIT),
        ([0.02, "fails"], Ruling.OVERFIT),
        ([0.045], Ruling.UNDECIDED),
        ([0.055], Ruling.UNDECIDED),
        ([0.02, None], Ruling.UNDECIDED),
        ([0.39, None], Ruling.OVERFIT),
        ([None], Ruling.UNDECIDED),
        ([], Ruling.UNDECIDED),
    ],
)
def test_rulings_hold_the_loss_with_its_noise_against_the_bound(losses, ruling):
    assert judge([cell(str(place), loss) for place, loss in enumerate(losses)]).ruling is ruling


def test_unknown_noise_is_taken_to_be_large():
    assert judge([cell("B", 0.08, math.nan)]).ruling is Ruling.UNDECIDED
    assert judge([cell("B", 0.39, math.nan)]).ruling is Ruling.OVERFIT


def test_the_bound_is_an_argument():
    assert judge([cell("B", 0.08)], bound=0.2).ruling is Ruling.PORTABLE


def test_words_say_where_and_how_much():
    cells = [cell(f"GPU {n}", 0.02 / n) for n in (1, 2, 3, 4)]
    cells += [cell("A4000", 0.39), cell("sm_89", "fails"), cell("MI250X", None)]
    assert judge(cells).words == (
        "loses at most 2% on 4 of 7, 39% on A4000, does not run on sm_89, not measured on MI250X"
    )
    assert judge([cell("B", 0.0)]).words == "loses nothing on 1 of 1"
    assert judge([cell("B", 0.2), cell("C", 0.3)]).words == "loses 30% on C and 20% on B"


@given(st.lists(st.floats(0, 1) | st.none() | st.just("fails"), max_size=6))
def test_missing_data_is_never_good(losses):
    ruling = judge([cell(str(place), loss) for place, loss in enumerate(losses)]).ruling
    if None in losses or not losses:
        assert ruling is not Ruling.PORTABLE
    if "fails" in losses:
        assert ruling is Ruling.OVERFIT
