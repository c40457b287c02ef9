import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.measuring.timing import BadTimeError, as_time, is_settled, sample
from autotune_lab.records import Protocol

NO_TIMES = [math.nan, math.inf, -math.inf, 0.0, -1.0, None, 1e-12, "3.0", True, [1.0], 1j]


class Bench:
    """A kernel of known times on a clock of its own, in seconds."""

    def __init__(self, times, wall_ms=None):
        self.times = itertools.cycle(times)
        self.wall_ms = wall_ms
        self.now = 0.0
        self.batches = []

    def draw(self, count):
        self.batches.append(count)
        drawn = list(itertools.islice(self.times, count))
        self.now += sum(drawn if self.wall_ms is None else [self.wall_ms] * count) / 1e3
        return drawn

    def sample(self, protocol=Protocol(), give_up_ms=None):
        return sample(self.draw, protocol, give_up_ms=give_up_ms, clock=lambda: self.now)


@pytest.mark.parametrize("raw", NO_TIMES, ids=repr)
def test_what_is_no_time_is_refused_with_its_text(raw):
    with pytest.raises(BadTimeError, match="not a time in ms") as caught:
        as_time(raw)
    assert caught.value.raw == str(raw)


@pytest.mark.parametrize("raw", [2, 2.0, np.float32(2), np.int64(2), Fraction(2)])
def test_a_real_number_is_a_time_whatever_library_it_is_of(raw):
    assert as_time(raw) == 2.0
    assert type(as_time(raw)) is float


def test_equal_samples_settle_at_once():
    assert Bench([2.0]).sample().samples_ms == (2.0,) * 6


def test_noise_takes_more_samples_but_never_more_than_the_most():
    noisy = Bench([1.0, 1.3, 0.8, 1.1, 1.25, 0.9, 1.02]).sample()
    assert 6 < len(noisy.samples_ms) <= Protocol().max_samples


def test_a_slow_kernel_gets_three_samples_over_the_budget():
    bench = Bench([400.0])
    assert len(bench.sample().samples_ms) == 3
    assert bench.now < 2.0


def test_the_budget_counts_what_is_around_the_kernel_too():
    bench = Bench([0.1, 0.2, 0.3], wall_ms=50.0)
    assert len(bench.sample(Protocol(budget_ms=400.0)).samples_ms) == 8


def test_a_very_short_kernel_has_a_capped_count():
    bench = Bench([0.0002, 0.0003, 0.00025])
    assert len(bench.sample(Protocol(max_samples=30)).samples_ms) <= 30


def test_a_hopeless_config_is_given_up_after_three_samples():
    given_up = Bench([5.0]).sample(give_up_ms=4.0)
    assert given_up.is_given_up
    assert given_up.samples_ms == (5.0,) * 3
    assert not Bench([3.9]).sample(give_up_ms=4.0).is_given_up


def test_one_sample_can_be_asked_for():
    assert Bench([1.0]).sample(Protocol(min_samples=1, max_samples=1)).samples_ms == (1.0,)


@given(
    st.lists(st.floats(0.01, 50.0), min_size=1, max_size=30),
    st.integers(1, 10),
    st.integers(10, 60),
    st.floats(1.0, 500.0),
)
def test_sampling_ends_within_its_bounds(times, least, most, budget_ms):
    protocol = Protocol(min_samples=least, max_samples=most, budget_ms=budget_ms)
    bench = Bench(times)
    samples = bench.sample(protocol).samples_ms
    assert 3 <= len(samples) <= most
    longest = max(times)
    assert bench.now * 1e3 <= max(3 * longest, budget_ms + most * longest)
    assert is_settled(samples, protocol) or len(samples) == most or bench.now * 1e3 > budget_ms / 3


def test_a_bad_sample_ends_it_wherever_it_comes():
    for place in range(6):
        times = [1.0] * 6
        times[place] = math.nan
        with pytest.raises(BadTimeError):
            Bench(times).sample()
