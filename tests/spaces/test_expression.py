"""Constraint texts mean what they mean to Python, and can't do anything else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab import DefinitionError, Space
from autotune_lab.spaces.expression import Expression, cdiv
from tests import strategies


def evaluate(text, **values):
    return Expression.parse(text).bind(lambda name: lambda _: values[name])(())


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("A >= 32 * B", {"A": 64, "B": 2}, True),
        ("1 < A < 3 < B", {"A": 2, "B": 4}, True),
        ("1 < A < 3 > B", {"A": 2, "B": 4}, False),
        ("A & (A - 1) == 0", {"A": 64}, True),
        ("A ** 2 == 4096", {"A": 64}, True),
        ("cdiv(A, 128) * 128 - A <= 64", {"A": 1000}, True),
        ("A in (16, 32) or A not in [64]", {"A": 64}, False),
        ("dtype in ('float16', 'bfloat16')", {"dtype": "bfloat16"}, True),
        ("(A, B) in ((1, 2), (3, 4))", {"A": 3, "B": 4}, True),
        ("maxnreg is None or maxnreg >= 64", {"maxnreg": None}, True),
        ("maxnreg is not None", {"maxnreg": 0}, True),
        ("A if B else not A", {"A": False, "B": False}, True),
        ("not B or 10 // B > 1", {"B": 0}, True),
        ("device.sm_count > 100", {"device.sm_count": 132}, True),
        ("problem.M % A == 0", {"problem.M": 4096, "A": 64}, True),
        ("64 <= A * B / 32 <= 128", {"A": 64, "B": 32}, True),
        ("A << 2 == B and B >> 2 == A and A | B == A ^ B", {"A": 1, "B": 4}, True),
        (
            "min(A, B) == 1 and max(A, B, 9) == 9 and abs(-A) == A and +A == ~~A",
            {"A": 1, "B": 2},
            True,
        ),
        ("A\n  <\n  B", {"A": 1, "B": 2}, True),
    ],
)
def test_values(text, values, expected):
    assert evaluate(text, **values) is expected


@given(strategies.constraint_texts(("A", "B")), st.integers(-9, 9), st.integers(-9, 9))
def test_any_text_means_what_it_means_to_python(text, a, b):
    assert evaluate(text, A=a, B=b) == eval(text, {"A": a, "B": b})


@given(st.integers(-1000, 1000), st.integers(1, 100))
def test_cdiv_rounds_up(a, b):
    assert cdiv(a, b) * b >= a > (cdiv(a, b) - 1) * b


def test_names_come_in_order_of_first_use():
    names = Expression.parse("B > A and device.warp_size > B and problem.M > 1").names
    assert names == ("B", "A", "device.warp_size", "problem.M")


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("A >", 4, "invalid syntax"),
        ("", 1, ""),
        ("A = 1", 3, ""),
        ("A > 1; B", 6, ""),
        ("A > __import__('os').getpid()", 5, "can be called"),
        ("(lambda: 1)() > A", 1, "can be called"),
        ("A.bit_length > 1", 1, "only device and problem"),
        ("A > device", 5, "device.sm_count"),
        ("A > device.x.y", 5, "only device and problem"),
        ("A > [x for x in (1, 2)][0]", 5, "Subscript is not allowed"),
        ("A > max(x for x in (1, 2))", 8, "GeneratorExp is not allowed"),
        ("A in B", 6, "write the values"),
        ("A is B", 6, "'is' is for None"),
        ("A @ B > 1", 1, "MatMult is not allowed"),
        ("f'{A}' == 'x'", 1, "JoinedStr is not allowed"),
        ("(A := 2) > 1", 2, "NamedExpr is not allowed"),
        ("A > 1j", 5, "no number"),
        ("A > b'x'", 5, "no number"),
        ("A > max(A, default=1)", 5, "no keyword"),
        ("A > max(*A)", 9, "Starred is not allowed"),
        ("{A: 1} == 1", 1, "Dict is not allowed"),
        ("'größer' == A.x", 13, "only device and problem"),
    ],
)
def test_everything_else_is_an_error_with_its_column(text, column, said):
    with pytest.raises(DefinitionError, match=f"column {column}: .*{said}") as caught:
        Expression.parse(text)
    assert repr(" ".join(text.split())) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "-" * 500 + "A > 1",
        "(" * 300 + "A" + ")" * 300 + " > 1",
        "not " * 400 + "A",
        "A > " + "1" * 3000,
    ],
)
def test_a_monstrous_text_is_an_error(text):
    with pytest.raises(DefinitionError):
        Expression.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9 > A",
        "A < 1 << 10**9",
        "'x' * 10**9 == A",
        "(1, 2) * 10**9 == A",
        "'%1000000000d' % 1 == A",
    ],
)
def test_a_text_can_neither_hang_nor_fill_the_memory(text):
    started = time.monotonic()
    with pytest.raises(DefinitionError):
        Space(A=[1, 2]).where(text).bind({})
    assert time.monotonic() - started < 1.0


def test_a_power_that_is_not_real_is_an_error():
    with pytest.raises(TypeError, match="not a real number"):
        evaluate("(0 - A) ** 0.5 > 1", A=2)
