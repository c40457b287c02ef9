"""How far a winner may serve other problems, and the distance that this is measured in."""

import math

import numpy as np
import pytest

from autotune_lab.analysis.distance import octaves
from autotune_lab.analysis.evidence import reach
from autotune_lab.runtime.shelf import Shelf
from tests.runtime.tables import problem, table, winner

WINNER, DEFAULT = 0, 1


def reached(winner_ms, default_ms, distances, fails=()):
    times_ms = np.array([winner_ms, default_ms])
    does_not_run = np.zeros_like(times_ms, dtype=bool)
    does_not_run[0, list(fails)] = True
    return reach(times_ms, does_not_run, distances, winner=WINNER, default=DEFAULT)


def test_reach_ends_before_the_first_problem_on_which_it_was_worse():
    assert reached([1, 1, 1, 2], [2, 2, 1, 1], [0, 1, 3, 5]) == 3
    assert reached([1, 2, 1, 1], [2, 1, 2, 2], [0, 1, 3, 5]) == 0
    assert reached([1, 1, 1, 1], [2, 2, 2, 2], [0, 1, 3, 5]) == 5


def test_reach_takes_the_noise_of_equal_times_for_equal():
    assert reached([1, 1.01], [2, 1.0], [0, 2]) == 2


def test_reach_ends_where_the_config_does_not_run():
    assert reached([1, 1, math.nan], [2, 2, 2], [0, 1, 2], fails=[2]) == 1


def test_reach_is_unknown_where_nobody_looked():
    assert reached([1, math.nan], [2, 1], [0, 1]) is None
    assert reached([1], [2], [0]) is None
    assert reached([1, 1], [2, 2], [0, math.inf]) is None


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ({"M": 16}, {"M": 64}, 2),
        ({"M": 16, "N": 8}, {"M": 64, "N": 4}, 3),
        ({"M": 16, "dtype": "a"}, {"M": 16, "dtype": "a"}, 0),
        ({"M": 16, "dtype": "a"}, {"M": 16, "dtype": "b"}, math.inf),
        ({"M": 16}, {"N": 16}, math.inf),
        ({"flag": True}, {"flag": 1}, math.inf),
        ({"M": 0}, {"M": 16}, math.inf),
    ],
)
def test_octaves(one, other, distance):
    assert octaves(one, other) == octaves(other, one) == distance


@pytest.mark.parametrize("asked", [2, 20, 63, 64, 65, 1000, 4095])
def test_look_up_measures_as_the_evidence_does(asked):
    (shelf,) = table([winner(1), winner(64), winner(4096)]).kernel("matmul").shelves.values()
    assert isinstance(shelf, Shelf)
    near = shelf.nearest(problem(asked))
    others = [octaves(problem(asked), problem(m)) for m in (1, 64, 4096)]
    assert near.distance_octaves == pytest.approx(min(others))
    assert octaves(problem(asked), near.problem) == pytest.approx(min(others))
