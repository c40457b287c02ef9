"""Parameters refuse what a config could not tell apart, and keep numbers in order."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab import DefinitionError, Parameter, next_power_of_two, powers_of_two


def test_numbers_are_ordered_and_ascending():
    parameter = Parameter("BLOCK", [256, 64, 128])
    assert parameter.values == (64, 128, 256)
    assert parameter.ordered


def test_words_keep_their_order_and_have_no_neighbours_unless_said():
    assert Parameter("layout", ["row", "column"]).values == ("row", "column")
    assert not Parameter("layout", ["row", "column"]).ordered
    assert Parameter("level", ["low", "mid", "high"], ordered=True).values == ("low", "mid", "high")


def test_switches_and_mixtures_are_not_ordered():
    assert not Parameter("FLATTEN", [False, True]).ordered
    assert not Parameter("maxnreg", [None, 128]).ordered


def test_numbers_that_are_names_keep_their_order():
    parameter = Parameter("variant", [3, 1, 2], ordered=False)
    assert parameter.values == (3, 1, 2)
    assert not parameter.ordered


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([1, True], "1 and True"),
        ([1, 1.0], "1 and 1.0"),
        ([False, 0], "False and 0"),
        ([128, np.int64(128)], "128 and np.int64(128)"),
        (["float16", torch.float16], "'float16' and torch.float16"),
        ([(1, 2), [1, 2]], "(1, 2) and [1, 2]"),
        ([(1,), (True,)], "(1,) and (True,)"),
    ],
)
def test_equal_values_are_refused_with_both_named(values, named):
    with pytest.raises(DefinitionError) as caught:
        Parameter("BLOCK", values)
    assert "parameter 'BLOCK'" in str(caught.value)
    assert f"values {named} are equal" in str(caught.value)


def test_all_equal_pairs_are_named_at_once():
    with pytest.raises(DefinitionError, match=r"64 and 64 .* 1 and True"):
        Parameter("BLOCK", [64, 64, 1, True])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "is empty"),
        (64, "not a list"),
        ("float16", "not a list"),
        ({64, 128}, "no order"),
        ({64: 1}, "not a list"),
        ([float("nan")], "not a finite number"),
        ([object()], "use int, float"),
    ],
)
def test_what_is_no_list_of_values_is_refused(values, said):
    with pytest.raises(DefinitionError, match=said) as caught:
        Parameter("BLOCK", values)
    assert "BLOCK" in str(caught.value)


@pytest.mark.parametrize("name", ["BLOCK M", "", "for", "device", "problem", "itemsize"])
def test_names_that_no_kernel_or_constraint_can_use_are_refused(name):
    with pytest.raises(DefinitionError):
        Parameter(name, [1])


def test_foreign_numbers_become_pythons_own():
    parameter = Parameter("x", [np.int64(4), np.float32(0.5), np.int32(2)])
    assert parameter.values == (0.5, 2, 4)
    assert [type(value) for value in parameter.values] == [float, int, int]
    assert Parameter("flag", [np.bool_(True)]).values == (True,)


def test_generators_and_ranges_are_lists_too():
    assert Parameter("x", (2**k for k in range(3))).values == (1, 2, 4)
    assert Parameter("x", range(1, 4)).values == (1, 2, 3)


def test_powers_of_two_include_both_ends():
    assert powers_of_two(64, 1024) == (64, 128, 256, 512, 1024)
    assert powers_of_two(1, 1) == (1,)
    assert powers_of_two(48, 130) == (64, 128)


@pytest.mark.parametrize(("low", "high"), [(65, 127), (128, 64), (-4, 0)])
def test_powers_of_two_of_an_empty_interval_are_an_error(low, high):
    with pytest.raises(DefinitionError, match="no power of two"):
        powers_of_two(low, high)


@given(st.integers(1, 5000))
def test_next_power_of_two_is_the_least_one_that_is_never_smaller(n):
    bucket = next_power_of_two(n)
    assert n <= bucket < 2 * n
    assert bucket & (bucket - 1) == 0
    assert next_power_of_two(bucket) == bucket


@pytest.mark.parametrize("n", [0, -1])
def test_there_is_no_bucket_for_nothing(n):
    with pytest.raises(DefinitionError, match="from 1 up"):
        next_power_of_two(n)
