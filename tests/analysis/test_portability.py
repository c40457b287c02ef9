import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from autotune_lab.analysis.portability import (
    Over,
    Rule,
    leave_one_out,
    newest_contexts,
    performance_portability,
    portable,
    scores,
)
from tests.analysis.making import Table, matrix_of
from tests.analysis.test_transfer import only


@given(arrays(np.float64, (4, 3), elements=st.floats(1e-3, 1)))
def test_it_is_the_harmonic_mean(efficiency):
    expected = [statistics.harmonic_mean(row) for row in efficiency.tolist()]
    assert performance_portability(efficiency) == pytest.approx(expected, abs=1e-12)


def test_one_failure_makes_it_zero_and_a_gap_makes_it_unknown():
    found = performance_portability(np.array([[1, 0.0, 1], [1, np.nan, 1], [np.nan, 0, 1]]))
    assert found[0] == 0
    assert math.isnan(found[1])
    assert found[2] == 0
    assert np.isnan(performance_portability(np.empty((1, 0)))).all()


def test_a_config_with_a_gap_is_scored_with_its_coverage_and_never_best():
    matrix = matrix_of([[1.0, 1.0, np.nan], [0.9, 0.5, 1.0], [0.8, 0.6, 0.6], [1.0, 1.0, 0.0]])
    table = scores(matrix)
    assert table["known"].tolist() == [2, 3, 3, 3]
    assert table["coverage"].tolist() == pytest.approx([2 / 3, 1, 1, 1])
    assert table["fails"].tolist() == [0, 0, 0, 1]
    gap = table.loc[0, ["performance_portability", "worst_loss", "mean_loss", "worst_efficiency"]]
    assert gap.isna().all()
    best = portable(matrix, Rule.PERFORMANCE_PORTABILITY)
    assert (best.config["c"], best.worst_loss, best.worst_on) == (1, 0.5, 1)
    assert best.performance_portability == pytest.approx(3 / (1 / 0.9 + 2 + 1))
    careful = portable(matrix, Rule.MINIMAX)
    assert (careful.config["c"], careful.worst_loss) == (2, 0.4)
    assert careful.mean_loss == pytest.approx(1 - 2 / 3)


def test_no_complete_config_means_no_portable_one():
    assert portable(matrix_of([[1, np.nan], [np.nan, 1]]), Rule.MINIMAX) is None
    assert portable(matrix_of(np.empty((1, 0))), Rule.MINIMAX) is None


def test_leaving_one_device_out_judges_the_choice_where_it_was_not_made():
    matrix = matrix_of(
        [[1.0, 1.0, 0.9, 0.1], [0.8, 0.8, 0.8, 0.8], [0.2, 0.3, 1.0, 1.0]],
        devices=["a", "a", "b", "c"],
        problems=["M=1", "M=2", "M=1", "M=1"],
    )
    table = leave_one_out(matrix, Over.DEVICE).set_index("left_out")
    assert [config["c"] for config in table["config"]] == [2, 1, 0]
    assert table["contexts"].tolist() == [2, 1, 1]
    assert table["held_out_worst_loss"].tolist() == pytest.approx([0.8, 0.2, 0.9])
    assert table["held_out_mean_loss"].tolist() == pytest.approx([0.75, 0.2, 0.9])
    assert table["kept_worst_loss"].tolist() == pytest.approx([0.0, 0.2, 0.1])
    by_problem = leave_one_out(matrix, Over.PROBLEM, Rule.MINIMAX)
    assert by_problem["left_out"].tolist() == ["M=1", "M=2"]


def test_a_fleet_of_one_can_leave_nothing_out():
    assert leave_one_out(matrix_of([[1.0]]), Over.DEVICE).empty


def test_of_two_environments_the_newest_speaks_for_a_device():
    made = Table()
    for environment, day in (("old", "01"), ("new", "02")):
        context = made.context("a", environment=environment)
        made.trial(context, 1, 1.0, finished_at=f"2026-01-{day}")
    dead = made.context("b")
    made.trial(dead, 1, state="crashed")
    kept = newest_contexts(only(made))
    assert [column.environment_id for column in kept.columns] == ["new"]
