import numpy as np
import pytest

from autotune_lab.analysis.sharpness import neighbours, sharpness
from autotune_lab.records import SpaceSnapshot
from autotune_lab.spaces.config import Config
from tests.analysis.making import Table
from tests.analysis.test_transfer import only

SPACE = SpaceSnapshot({"b": (16, 32, 64, 128), "m": ("x", "y", "z")}, ("b",), (), 12)


def neighbourhood(times):
    made = Table()
    context = made.context("a")
    for (block, mode), ms in times.items():
        made.trial(context, Config(b=block, m=mode), ms, reason="" if ms else "too large")
    matrix = only(made)
    table = neighbours(matrix, 0, SPACE)
    return table, sharpness(matrix, 0, table)


def test_neighbours_are_one_step_in_order_and_any_other_value_without():
    table, found = neighbourhood(
        {(32, "x"): 1.0, (16, "x"): 1.25, (64, "x"): None, (32, "y"): 2.0, (128, "x"): 1.1}
    )
    by_step = table.set_index(["parameter", "value_to"])
    assert by_step["state"].to_dict() == {
        ("b", 16): "measured",
        ("b", 64): "does not run",
        ("m", "y"): "measured",
        ("m", "z"): "not measured",
    }
    assert by_step.loc[("b", 16), "loss"] == pytest.approx(0.2)
    assert by_step.loc[("b", 64), ["loss", "reason"]].tolist() == [1.0, "launch_error: too large"]
    assert np.isnan(by_step.loc[("m", "z"), "loss"])
    assert (found.neighbours, found.tried, found.fails) == (4, 3, 1)
    assert found.loss == pytest.approx(0.5)
    assert found.worst_loss == pytest.approx(0.5)
    assert found.verdict == "needle"


def test_a_plateau_and_an_unknown():
    flat = {(32, "x"): 1.0, (16, "x"): 1.001, (64, "x"): 1.01, (32, "y"): 1.005, (32, "z"): 1.0}
    assert neighbourhood(flat)[1].verdict == "plateau"
    assert neighbourhood({(32, "x"): 1.0})[1].verdict == "unknown"
    assert neighbourhood({(32, "x"): 1.0, (16, "x"): 1.1})[1].verdict == "slope"


def test_a_context_without_a_winner_has_no_neighbourhood():
    table, found = neighbourhood({(32, "x"): None})
    assert table.empty
    assert found is None
