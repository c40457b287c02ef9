import numpy as np
import pytest

from autotune_lab.analysis.importance import Evaluator, as_study, importance
from autotune_lab.analysis.parameters import as_declared, effects, shifts, winning_values
from autotune_lab.records import SpaceSnapshot
from autotune_lab.spaces.config import Config
from tests.analysis.making import Table
from tests.analysis.test_transfer import only

SPACE = SpaceSnapshot(
    {"BLOCK": (16, 32, 64, 128, 256), "mode": ("a", "b", True, 1), "one": (7,)}, ("BLOCK",), (), 20
)


@pytest.fixture
def matrix():
    """BLOCK decides on a, both decide on b; mode does not matter on a; 256 fails on a."""
    made = Table()
    for device in "ab":
        context = made.context(device)
        for block in SPACE.parameters["BLOCK"]:
            for place, mode in enumerate(SPACE.parameters["mode"]):
                ms = block / 16 + place * 1e-3
                if device == "b":
                    ms = abs(64 - block) / 1600 + 1 + 4 * abs(place - 2)
                fails = device == "a" and block == 256
                config = Config(BLOCK=block, mode=mode, one=7)
                made.trial(context, config, None if fails else ms)
    return only(made)


def test_effects_say_what_tuning_the_rest_can_still_reach(matrix):
    table = effects(matrix).query("device_model == 'a'").set_index(["parameter", "value"])
    row = table.loc[("BLOCK", 32)]
    assert (row["best_ms"], row["runs"], row["fails"]) == (2.0, 4, 0)
    assert row["median_ms"] == pytest.approx(2.0015)
    assert row["loss"] == 0.5
    failing = table.loc[("BLOCK", 256)]
    assert (failing["runs"], failing["fails"]) == (0, 4)
    assert np.isnan(failing["loss"])
    assert "one" not in table.index.get_level_values("parameter")
    blocks = table.loc["BLOCK"].index.tolist()
    assert blocks == [16, 32, 64, 128, 256]


def test_true_and_one_are_two_values(matrix):
    modes = effects(matrix).query("parameter == 'mode' and device_model == 'a'")["value"].tolist()
    assert [(type(mode), mode) for mode in modes] == [
        (str, "a"),
        (str, "b"),
        (bool, True),
        (int, 1),
    ]


def test_shifts_say_which_values_move(matrix):
    won = winning_values(matrix)
    assert won.loc["BLOCK"].tolist() == [16, 64]
    assert won.loc["mode"].tolist() == ["a", True]
    table = shifts(matrix).set_index("parameter")
    assert table.loc["one", ["is_stable", "modal_share", "distinct"]].tolist() == [True, 1.0, 1]
    assert table.loc["BLOCK", ["is_stable", "modal_share", "values"]].tolist() == [
        False,
        0.5,
        (16, 64),
    ]


@pytest.mark.parametrize("evaluator", list(Evaluator))
def test_importance_finds_the_parameter_that_decides(matrix, evaluator):
    assert importance(matrix, 0, SPACE, evaluator) == {}  # 16 ran, too few to say
    found = importance(matrix, 1, SPACE, evaluator)
    assert set(found) == {"BLOCK", "mode"}
    assert sum(found.values()) == pytest.approx(1.0)
    if evaluator is not Evaluator.PED_ANOVA:  # it looks at the best tenth, here two configs
        assert found["mode"] > found["BLOCK"]


def test_a_study_for_optunas_tools_has_the_trials_that_ran(matrix):
    study = as_study(matrix, 0, SPACE)
    assert len(study.trials) == 16
    assert study.best_value == 0.0
    assert study.best_params == {"BLOCK": 0, "mode": 0}


def test_values_keep_their_types_beside_none():
    frame = as_declared(
        [{"value": 128, "loss": 0.5}, {"value": None, "loss": 1.0}], ["value", "loss"], "value"
    )
    assert [type(value) for value in frame["value"]] == [int, type(None)]
