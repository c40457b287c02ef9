import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from autotune_lab.analysis.portfolio import Objective, portfolios, smallest
from tests.analysis.making import matrix_of


def by_brute_force(efficiency, size, objective):
    losses = []
    for rows in itertools.combinations(range(len(efficiency)), size):
        served = efficiency[list(rows)].max(axis=0)
        losses.append(1 - (served.min() if objective is Objective.WORST else served.mean()))
    return min(losses)


small = st.tuples(st.integers(1, 6), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 8).map(lambda n: n / 8))
)


@given(small, st.sampled_from(list(Objective)))
@settings(max_examples=60, deadline=None)
def test_small_portfolios_equal_brute_force(efficiency, objective):
    efficiency[0, :] = np.maximum(efficiency[0], 0.125)
    for size, found in enumerate(portfolios(matrix_of(efficiency), objective), start=1):
        loss = found.worst_loss if objective is Objective.WORST else found.mean_loss
        assert found.is_exact
        assert len(found.configs) <= size
        assert loss == pytest.approx(by_brute_force(efficiency, size, objective), abs=1e-9)


def test_a_few_fit_most_by_hand():
    efficiency = np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.6], [0.7, 0.7, 0.7], [0.2, 0.3, 1.0]])
    one, two, three = portfolios(matrix_of(efficiency))
    assert [one.worst_loss, two.worst_loss, three.worst_loss] == pytest.approx([0.3, 0.1, 0.0])
    assert [config["c"] for config in one.configs] == [2]
    assert {config["c"] for config in two.configs} == {0, 1}
    assert [two.configs[member]["c"] for member in two.serves] == [0, 1, 0]
    assert two.mean_loss == pytest.approx(0.1 / 3)
    assert smallest([one, two, three], 0.1 + 1e-12) == two
    assert smallest([one], 0.1) is None


def test_what_was_not_measured_serves_nobody():
    efficiency = np.array([[1.0, np.nan], [0.5, 1.0]])
    one, two = portfolios(matrix_of(efficiency))
    assert one.configs[0]["c"] == 1
    assert one.worst_loss == 0.5
    assert two.worst_loss == 0.0


def test_large_medians_say_that_they_are_greedy():
    efficiency = np.random.default_rng(0).uniform(0.1, 1, (500, 12))
    efficiency /= efficiency.max(axis=0)
    found = portfolios(matrix_of(efficiency), Objective.MEAN, most=4)
    assert [portfolio.is_exact for portfolio in found] == [True, False, False, False]
    losses = [portfolio.mean_loss for portfolio in found]
    assert losses == sorted(losses, reverse=True)
    centers = portfolios(matrix_of(efficiency), Objective.WORST, most=3)
    assert all(portfolio.is_exact for portfolio in centers)
    assert centers[1].worst_loss == pytest.approx(
        by_brute_force(efficiency, 2, Objective.WORST), abs=1e-12
    )


def test_no_contexts_give_no_portfolio():
    assert portfolios(matrix_of(np.empty((0, 0)))) == []
