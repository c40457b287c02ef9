import pytest

from autotune_lab.analysis.noise import floors
from autotune_lab.analysis.overfitting import cause, verdicts
from autotune_lab.analysis.transfer import Axis, entries
from autotune_lab.spaces.config import Config
from tests.analysis.making import Table
from tests.analysis.test_transfer import only


def judged(fleet, width=0.01, **arguments):
    """Judge winners; fleet is device -> {BLOCK: ms or None}."""
    made = Table()
    for device, times in fleet.items():
        context = made.context(device)
        for block, ms in times.items():
            config = Config(BLOCK=block, num_warps=4)
            reason = "" if ms else "needs 163840 B, has 101376 B"
            bounds = {"low_ms": ms * (1 - width), "high_ms": ms * (1 + width)} if ms else {}
            state = None if ms else "out_of_resources"
            made.trial(context, config, ms, state=state, reason=reason, **bounds)
    matrix = only(made)
    cells = entries(matrix, Axis.DEVICE, floors(made.frames()[0]))
    return verdicts(matrix, cells, **arguments).set_index("tuned_on"), matrix


def test_a_loss_well_above_the_bound_is_overfit_and_the_cause_is_named():
    table, _ = judged({"h200": {1: 1.0, 2: 1.2}, "a4000": {1: 1.6, 2: 1.0}})
    row = table.loc["h200"]
    assert row["judgement"] == "overfit"
    assert row["worst_loss"] == pytest.approx(0.375)
    assert row["worst_low"] < 0.375 < row["worst_high"]
    assert row["cause"] == "BLOCK 1 -> 2 wins back 100% of the loss"
    assert row["sentence"] == "tuned on h200; loses 38% on a4000"


def test_a_failure_is_overfit_with_its_reason():
    table, _ = judged({"h200": {1: 1.0, 2: 1.1}, "l4": {1: None, 2: 1.0}, "b": {1: 1.0, 2: 1.2}})
    row = table.loc["h200"]
    assert (row["judgement"], row["fails"], row["worst_loss"]) == ("overfit", 1, 1.0)
    assert row["cause"] == "out_of_resources: needs 163840 B, has 101376 B"
    assert row["sentence"] == "tuned on h200; loses at most 5% on 1 of 2 others, does not run on l4"


def test_portable_needs_every_interval_below_the_bound():
    assert (
        judged({"a": {1: 1.0, 2: 2.0}, "b": {1: 1.0, 2: 1.5}})[0].loc["a", "judgement"]
        == "portable"
    )
    near = {"a": {1: 1.0, 2: 1.5}, "b": {1: 1.045, 2: 1.0}}
    assert judged(near)[0].loc["a", "judgement"] == "undecided"
    assert judged(near, bound=0.1)[0].loc["a", "judgement"] == "portable"


def test_what_is_not_measured_is_undecided_and_never_good():
    table, _ = judged({"a": {1: 1.0, 2: 2.0}, "b": {2: 1.0}})
    row = table.loc["a"]
    assert (row["judgement"], row["known"], row["elsewhere"]) == ("undecided", 0, 1)
    assert row["sentence"] == "tuned on a; not measured on 1"
    assert row["worst_on"] == ""


def test_long_lists_of_losses_are_shortened():
    fleet = {"home": {1: 1.0, 2: 3.0}}
    fleet |= {f"d{n}": {1: 2.0 + n, 2: 1.0} for n in range(5)}
    sentence = judged(fleet)[0].loc["home", "sentence"]
    assert sentence == (
        "tuned on home; loses 83% on d4, 80% on d3, 75% on d2, more than 5% on 2 more"
    )


def test_no_single_change_no_cause():
    made = Table()
    for device, times in {"a": (1.0, 2.0), "b": (2.0, 1.0)}.items():
        for config, ms in zip((Config(x=1, y=1), Config(x=2, y=2)), times, strict=True):
            made.trial(made.context(device), config, ms)
    matrix = only(made)
    assert cause(matrix, 0, 1) == ""
    assert cause(matrix, 0, 0) == ""
