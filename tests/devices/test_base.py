from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.devices.base import MAX_UNROLLED_CALLS, unrolled_calls


def test_a_short_kernel_is_unrolled_until_the_fixed_cost_is_a_hundredth():
    assert unrolled_calls(0.003, 0.006) == 200
    assert unrolled_calls(0.004, 0.006) == 150


@given(st.floats(1e-6, 1e3), st.floats(0, 0.1))
def test_the_fixed_cost_is_at_most_one_percent_or_the_calls_are_capped(kernel_ms, fixed_ms):
    calls = unrolled_calls(kernel_ms, fixed_ms)
    assert 1 <= calls <= MAX_UNROLLED_CALLS
    assert calls == MAX_UNROLLED_CALLS or fixed_ms <= 0.0101 * calls * kernel_ms


def test_a_kernel_of_no_time_is_capped():
    assert unrolled_calls(0.0, 0.006) == MAX_UNROLLED_CALLS
