import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.definitions import DEFAULT_TOLERANCES
from autotune_lab.measuring.verify import compare


def ref(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_errors_count_relative_to_the_reference_and_its_mean_square():
    verdict = compare("y", torch.tensor([3.0, 4.1]), ref(3.0, 4.0), 1e-2)
    rms = math.sqrt((9 + 16) / 2)
    assert verdict.numerics.output_rms == pytest.approx(rms)
    assert verdict.numerics.max_absolute_error == pytest.approx(0.1, rel=1e-5)
    assert verdict.numerics.max_relative_error == pytest.approx(0.1 / (4 + rms), rel=1e-5)
    assert verdict.numerics.tolerance == 1e-2
    assert "1 of 2 elements are off" in verdict.fault


def test_a_long_sum_in_another_order_passes_where_its_value_is_near_zero():
    generator = torch.Generator().manual_seed(0)
    terms = torch.randn(64, 32768, generator=generator).half()
    exact = terms.double().sum(1)
    other_order = terms.float().view(64, 64, 512).sum(1).sum(1).half()
    tolerance = DEFAULT_TOLERANCES["float16"].relative
    assert not compare("y", other_order, exact, tolerance).fault
    assert compare("y", other_order + exact.std().half() / 10, exact, tolerance).fault


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20), st.floats(0.011, 1.0))
def test_an_error_over_the_tolerance_never_passes(values, excess):
    exact = torch.tensor(values, dtype=torch.float64)
    rms = float(exact.square().mean().sqrt())
    shift = excess * (float(exact[0].abs()) + rms)
    wrong = exact.clone()
    wrong[0] += shift
    verdict = compare("y", wrong, exact, 1e-2)
    assert bool(verdict.fault) == (shift > 0)
    assert not compare("y", exact.clone(), exact, 1e-2).fault


@pytest.mark.parametrize(
    ("got", "wanted", "is_right"),
    [
        (math.nan, math.nan, True),
        (math.inf, math.inf, True),
        (-math.inf, math.inf, False),
        (math.nan, math.inf, False),
        (math.nan, 1.0, False),
        (1.0, math.nan, False),
        (math.inf, 1.0, False),
    ],
)
def test_nan_and_infinity_must_be_where_the_reference_has_them(got, wanted, is_right):
    verdict = compare("y", torch.tensor([1.0, got]), ref(1.0, wanted), 1e-5)
    assert (not verdict.fault) == is_right
    assert verdict.numerics.max_absolute_error == 0.0


def test_all_nan_has_no_error_to_state():
    verdict = compare("y", torch.full((3,), math.nan), ref(1.0, 2.0, 3.0), 1e-5)
    assert "3 of 3 elements are NaN" in verdict.fault
    assert verdict.numerics.max_absolute_error is None


def test_a_reference_of_zeros_is_met_by_zeros_alone():
    assert not compare("y", torch.zeros(3), ref(0, 0, 0), 1e-3).fault
    assert compare("y", torch.tensor([0, 0, 1e-20]), ref(0, 0, 0), 1e-3).fault


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_integers_are_compared_exactly(dtype):
    right = torch.tensor([1, 2, 3], dtype=dtype)
    assert not compare("y", right, torch.tensor([1, 2, 3]), 0.0).fault
    verdict = compare("y", right, torch.tensor([1, 2, 5]), 0.0)
    assert "1 of 3 elements differ by up to 2" in verdict.fault


def test_large_integers_are_not_rounded():
    big = torch.tensor([2**60])
    assert compare("y", big, big + 1, 0.0).fault


def test_a_boolean_that_was_not_written_is_no_true():
    written = torch.tensor([1, 0xA5], dtype=torch.uint8).view(torch.bool)
    assert compare("y", written, torch.tensor([True, True]), 0.0).fault
    assert not compare("y", torch.tensor([True, False]), torch.tensor([True, False]), 0.0).fault


def test_layout_does_not_count():
    exact = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    assert not compare("y", exact.float().t().contiguous().t(), exact, 1e-6).fault


def test_nothing_to_compare_is_right():
    assert not compare("y", torch.empty(0), torch.empty(0, dtype=torch.float64), 1e-6).fault
