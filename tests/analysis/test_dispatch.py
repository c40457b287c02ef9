"""Rules that name a config for a problem: how few, how simple, and judged on unseen problems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab.analysis.dispatch import choose, rule
from autotune_lab.records import Branch
from tests.analysis.making import matrix_of

SMALL, LARGE = 0, 1


def sizes(*values, dtype="bfloat16"):
    return [{"M": m, "N": 4096, "dtype": dtype} for m in values]


def two_worlds(problems):
    """Config 0 is right up to M=64, config 1 above; each loses half in the other's world."""
    is_small = np.array([problem["M"] <= 64 for problem in problems])
    return matrix_of(np.array([np.where(is_small, 1.0, 0.5), np.where(is_small, 0.5, 1.0)]))


def test_one_config_is_kept_where_it_is_good_enough():
    problems = sizes(1, 16, 256, 4096)
    found = rule(matrix_of([[1.0, 0.99, 0.98, 0.97], [0.9, 0.99, 0.98, 0.9]]), problems, loss=0.05)
    assert (found.kind, len(found.configs), found.root) == ("single", 1, 0)
    assert found.worst_loss == pytest.approx(0.03)
    assert found.held_out["single"][0] <= 0.05


def test_tree_finds_the_border_between_two_worlds():
    problems = sizes(1, 4, 16, 64, 256, 1024, 4096, 8192)
    matrix = two_worlds(problems)
    found = rule(matrix, problems, loss=0.05)
    assert found.kind == "tree"
    assert isinstance(found.root, Branch)
    assert found.root.field == "M"
    assert 64 <= found.root.limit < 256
    assert found.worst_loss == 0.0
    assert found.held_out["tree"][1] < found.held_out["single"][1] / 3
    for m, row in ((2, SMALL), (60, SMALL), (300, LARGE), (10**6, LARGE)):
        config = found.configs[choose(found, sizes(m)[0])]
        assert config == matrix.configs[row]


def test_tree_asks_for_the_dtype_where_that_decides():
    problems = [*sizes(1, 16, 256, 4096), *sizes(1, 16, 256, 4096, dtype="float32")]
    is_half = np.array([problem["dtype"] == "bfloat16" for problem in problems])
    matrix = matrix_of(np.array([np.where(is_half, 1.0, 0.5), np.where(is_half, 0.5, 1.0)]))
    found = rule(matrix, problems, loss=0.05)
    assert found.root.field == "dtype"
    assert found.configs[choose(found, sizes(7, dtype="float32")[0])] == matrix.configs[1]


def test_rule_that_only_remembers_is_found_out():
    """Winners that follow no field: the tree fits all problems and fails on each it never saw."""
    problems = sizes(1, 2, 4, 8, 16, 32)
    is_odd = np.arange(6) % 2 == 1
    matrix = matrix_of(np.array([np.where(is_odd, 1.0, 0.4), np.where(is_odd, 0.4, 1.0),
                                 np.full(6, 0.8)]))  # fmt: skip
    found = rule(matrix, problems, loss=0.05)
    assert found.kind == "single"
    assert found.configs == (matrix.configs[2],)
    assert found.held_out["tree"][0] == pytest.approx(0.6)


def test_default_is_judged_beside_the_others():
    problems = sizes(1, 16, 256)
    found = rule(matrix_of([[1.0, 1.0, 1.0], [0.5, 0.75, 1.0]]), problems, default=1)
    assert found.held_out["default"] == (pytest.approx(0.5), pytest.approx(0.25))


def test_single_problem_has_one_config_and_nothing_held_out():
    found = rule(matrix_of([[1.0], [0.5]]), sizes(16))
    assert (found.kind, found.held_out) == ("single", {})


def test_problem_in_which_nothing_ran_is_left_out():
    matrix = replace(matrix_of([[1.0, 0.0], [0.9, 0.0]]), winners=np.array([0, -1]))
    found = rule(matrix, sizes(16, 32))
    assert found.problems == 1


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_rules_keep_their_promise_on_the_problems_they_were_made_from(data):
    columns = data.draw(st.integers(1, 6))
    values = st.lists(st.floats(0.1, 1.0), min_size=columns, max_size=columns)
    efficiency = np.array(data.draw(st.lists(values, min_size=1, max_size=5)))
    efficiency /= efficiency.max(axis=0)
    problems = sizes(*(2**i for i in range(columns)))
    matrix = matrix_of(efficiency)
    found = rule(matrix, problems, loss=0.1)
    served = [
        matrix.efficiency[matrix.row(found.configs[choose(found, problem)].id), column]
        for column, problem in enumerate(problems)
    ]
    assert 1 - min(served) == pytest.approx(found.worst_loss)
    assert len(found.configs) <= len(matrix.configs)
