"""Records become strict JSON and come back equal; anything else is refused with its place named."""

import contextlib
import dataclasses
import enum
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.codec import CodecError, from_json, from_plain, parse, to_json, to_plain
from autotune_lab.definitions import Problem
from autotune_lab.spaces.config import Config


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    size: int
    weight: float = 1.0

    def __post_init__(self):
        if self.size < 0:
            raise ValueError(f"size is {self.size}; use 0 or more")


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    colour: Colour
    many: tuple[Inner, ...] = ()
    table: dict[str, float] = field(default_factory=dict)
    maybe: int | None = None
    config: Config | None = None
    problem: Problem | None = None
    anything: Any = None
    flag: bool = False


inners = st.builds(Inner, st.integers(0), st.floats(allow_nan=False, allow_infinity=False))
outers = st.builds(
    Outer,
    inner=inners,
    colour=st.sampled_from(Colour),
    many=st.lists(inners, max_size=3).map(tuple),
    table=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
    maybe=st.none() | st.integers(),
    config=st.none() | st.builds(Config, st.dictionaries(st.text(), st.integers())),
    problem=st.none() | st.builds(Problem, M=st.integers(), dtype=st.just("float16")),
    anything=st.recursive(st.none() | st.integers() | st.text(), st.lists),
    flag=st.booleans(),
)


@given(outers, st.booleans())
def test_records_come_back_equal(record, sparse):
    assert from_json(Outer, to_json(record, sparse=sparse)) == record


@given(outers)
def test_equal_records_give_equal_text(record):
    assert to_json(record) == to_json(dataclasses.replace(record))


def test_sparse_text_leaves_out_what_has_its_default():
    assert (
        to_json(Outer(Inner(1), Colour.RED), sparse=True) == '{"colour":"red","inner":{"size":1}}'
    )
    assert to_json(Inner(1, 2.0), sparse=True) == '{"size":1,"weight":2.0}'


def test_keys_are_sorted_unless_their_order_says_something():
    problem = Problem(M=1, K=2)
    assert to_json(problem) == '{"K":2,"M":1}'
    assert to_json(problem, sort_keys=False) == '{"M":1,"K":2}'


def test_numbers_of_other_libraries_become_pythons_own():
    plain = to_plain({"a": np.int64(4), "b": np.float32(0.5), "c": (np.uint8(1),), 3: True})
    assert plain == {"a": 4, "b": 0.5, "c": [1], "3": True}
    assert [type(v) for v in (plain["a"], plain["b"], plain["c"][0], plain["3"])] == [
        int, float, int, bool,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, np.float64("nan"), object(), {1j}]
)
def test_what_has_no_strict_json_is_refused(value):
    with pytest.raises(CodecError, match="dict: has no strict JSON"):
        to_json({"time_ms": value})


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "-Infinity", "1e999", "{", "", b"\xff", "[" * 100_000]
)
def test_what_is_no_strict_json_is_refused(text):
    with pytest.raises(CodecError, match="reply: not strict JSON"):
        parse(text, "reply")


GOOD = {"inner": {"size": 1}, "colour": "red"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inner": None}, "Outer.inner: expected an object, got None"),
        ({"inner": {}}, "Outer.inner: missing keys size"),
        ({"inner": {"size": True}}, "Outer.inner.size: expected int, got True"),
        ({"inner": {"size": 1.0}}, "Outer.inner.size: expected int, got 1.0"),
        ({"inner": {"size": -1}}, "Outer.inner: size is -1; use 0 or more"),
        ({"inner": {"size": 1, "weight": "2"}}, "Outer.inner.weight: expected float, got '2'"),
        ({"inner": {"size": 1, "weight": 10**400}}, "Outer.inner.weight: int too large"),
        ({"inner": {"size": 1, "x": 0, "a": 0}}, "Outer.inner: unknown keys a, x"),
        ({"colour": "green"}, "Outer.colour: 'green' is not a valid Colour"),
        ({"many": {"size": 1}}, "Outer.many: expected a list"),
        ({"many": [{"size": 1}, {"size": "1"}]}, r"Outer.many\[1\].size: expected int, got '1'"),
        ({"table": []}, "Outer.table: expected an object"),
        ({"table": {"x": None}}, "Outer.table.x: expected float, got None"),
        ({"maybe": "1"}, "Outer.maybe: expected int, got '1'"),
        ({"config": [1]}, "Outer.config: config: expected an object"),
        ({"flag": 1}, "Outer.flag: expected bool, got 1"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_with_its_place(change, message):
    assert from_plain(Outer, GOOD) == Outer(Inner(1), Colour.RED)
    with pytest.raises(CodecError, match=f"^{message}"):
        from_plain(Outer, GOOD | change)


def test_a_whole_number_is_a_float_where_a_float_is_due():
    inner = from_plain(Inner, {"size": 1, "weight": 2})
    assert type(inner.weight) is float


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["inner", "size", "colour", "many", "x"]), inner)
    ),
)


@given(plain)
def test_foreign_data_gives_a_record_or_an_error_and_never_a_crash(data):
    with contextlib.suppress(CodecError):
        assert isinstance(from_plain(Outer, data), Outer)
