import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.measuring.statistics import Interval, median_interval, relative_spread

TIMES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60)


@given(TIMES)
def test_interval_holds_the_median_and_is_made_of_samples(samples):
    interval = median_interval(samples)
    if len(samples) < 6:
        assert (interval.low, interval.high) == (None, None)
        assert interval.relative_half_width is None
    else:
        assert interval.low <= interval.median <= interval.high
        assert {interval.low, interval.high} <= set(samples)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # Hahn and Meeker, Statistical Intervals, table A.15a and binomial sums done by hand.
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (50, 18, 33)],
)
def test_ranks_are_those_of_the_tables(count, low, high):
    assert median_interval(range(1, count + 1)) == Interval((count + 1) / 2, low, high)


@pytest.mark.parametrize("count", [6, 7, 10, 11])
def test_interval_covers_the_true_median_often_enough(count):
    """Every way in which samples fall below or above the median, counted exactly."""
    covered = 0
    for signs in itertools.product((-1, 1), repeat=count):
        interval = median_interval([s * (1 + i / 100) for i, s in enumerate(signs)])
        covered += interval.low <= 0 <= interval.high
    assert covered / 2**count >= 0.95


def test_one_sample_gives_a_number_without_a_spread():
    assert median_interval([2.0]) == Interval(2.0, None, None)
    assert relative_spread([2.0]) == 0.0


def test_no_samples_are_an_error():
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def test_half_width_is_relative_to_the_median():
    assert math.isclose(Interval(2.0, 1.9, 2.1).relative_half_width, 0.05)


def test_spread_is_the_interquartile_range_over_the_median():
    assert math.isclose(relative_spread([1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 3.0)
