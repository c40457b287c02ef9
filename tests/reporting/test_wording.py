import math

import pandas as pd
import pytest

from autotune_lab.reporting import wording


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (128, "128"),
        (1.0, "1.0"),
        (True, "True"),
        ("fp8", "fp8"),
        ((1, 2.5), "(1, 2.5)"),
        (None, "None"),
        (math.nan, "unset"),
        (pd.NA, "unset"),
    ],
)
def test_values_read_as_they_were_declared(item, text):
    assert wording.value(item) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0.2013, "0.2013 ms"),
        (0.00123456, "0.001235 ms"),
        (12.3456, "12.35 ms"),
        (12345.6, "12,350 ms"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_times_keep_four_digits(ms, text):
    assert wording.time(ms) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (0.004, "0.4%"), (0.0994, "9.9%"), (0.39, "39%"), (1.0, "100%"), (None, "–")],
)
def test_percentages(share, text):
    assert wording.percent(share) == text


def test_signs_are_shown_when_asked():
    assert wording.percent(0.021, signed=True) == "+2.1%"
    assert wording.percent(-0.3, signed=True) == "-30%"


def test_counts_take_the_right_noun():
    assert wording.count(1, "config") == "1 config"
    assert wording.count(11_130, "config") == "11,130 configs"
    assert wording.count(2, "box", "boxes") == "2 boxes"


def test_listings_end_in_and():
    assert wording.listing([]) == ""
    assert wording.listing("a") == "a"
    assert wording.listing("abc") == "a, b and c"
    assert wording.listing("abcdefgh", most=3) == "a, b and 6 more"


def test_problems_are_named_by_what_differs():
    problems = {
        "M=1,N=8,dtype=float16": {"M": 1, "N": 8, "dtype": "float16"},
        "M=2,N=8,dtype=float16": {"M": 2, "N": 8, "dtype": "float16"},
    }
    assert list(wording.short_problems(problems).values()) == ["M=1", "M=2"]
    assert wording.short_problems({"M=1": {"M": 1}}) == {"M=1": "M=1"}


def test_a_field_that_one_problem_lacks_sets_it_apart():
    problems = {"M=1": {"M": 1}, "M=1,flag=True": {"M": 1, "flag": True}}
    assert wording.short_problems(problems) == {"M=1": "M=1", "M=1,flag=True": "flag=True"}


def test_one_and_true_are_two_problems():
    problems = {"a": {"x": 1}, "b": {"x": True}}
    assert wording.short_problems(problems) == {"a": "x=1", "b": "x=True"}
