"""Definitions and problems tell all their faults before anything runs."""

import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab import (
    Config,
    DefinitionError,
    Problem,
    Space,
    Tolerance,
    next_power_of_two,
    powers_of_two,
)
from tests import strategies
from tests.making import definition


@given(strategies.problems(), st.randoms(use_true_random=False))
def test_the_order_of_a_problems_fields_does_not_matter(problem, random):
    items = list(problem.items())
    random.shuffle(items)
    assert Problem(dict(items)) == problem
    assert Problem(dict(items)).id == problem.id
    assert Problem(**dict(items)).to_json() == problem.to_json()


@given(strategies.problems())
def test_a_problem_survives_text_json_and_pickle(problem):
    assert Problem.parse(str(problem)) == problem
    assert Problem.from_plain(json.loads(problem.to_json())) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem


@pytest.mark.parametrize(
    "other",
    [
        Problem(M=4097, dtype="float16", layout="row", causal=True),
        Problem(M=4096, dtype="float32", layout="row", causal=True),
        Problem(M=4096, dtype="float16", layout="column", causal=True),
        Problem(M=4096, dtype="float16", layout="row", causal=False),
        Problem(M=4096, dtype="float16", layout="row", causal=1),
        Problem(M=4096, dtype="float16", layout="row"),
    ],
)
def test_shape_dtype_layout_and_scalars_are_all_in_the_key(other):
    assert other.id != Problem(M=4096, dtype="float16", layout="row", causal=True).id


def test_foreign_types_are_the_values_they_stand_for():
    foreign = Problem(n=np.int64(8), dtype=torch.bfloat16, causal=np.bool_(True))
    assert foreign == Problem(n=8, dtype="bfloat16", causal=True)
    assert [type(value) for value in foreign.values()] == [int, str, bool]


def test_parsing_tells_numbers_switches_and_words_apart():
    parsed = Problem.parse(" M=4096, scale=0.5 ,causal=True,dtype=bfloat16, name=1e")
    assert dict(parsed) == {
        "M": 4096,
        "scale": 0.5,
        "causal": True,
        "dtype": "bfloat16",
        "name": "1e",
    }
    assert type(parsed.M) is int


@pytest.mark.parametrize("text", ["", "M", "M=", "=4", "M=4,,N"])
def test_a_text_that_is_no_problem_is_refused(text):
    with pytest.raises(DefinitionError):
        Problem.parse(text)


def test_fields_are_attributes_and_a_missing_one_names_the_others():
    problem = Problem(M=4, dtype="float16")
    assert (problem.M, problem.itemsize) == (4, 2)
    with pytest.raises(AttributeError, match="no field 'N'; it has M, dtype"):
        _ = problem.N
    with pytest.raises(DefinitionError, match="dtype None"):
        _ = Problem(M=4).itemsize
    with pytest.raises(DefinitionError, match="float7"):
        _ = Problem(dtype="float7").itemsize


@pytest.mark.parametrize("name", ["id", "itemsize", "keys", "_x", "a b"])
def test_a_field_that_would_hide_something_is_refused(name):
    with pytest.raises(DefinitionError):
        Problem({name: 1})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "my kernel"}, "not an identifier"),
        ({"outputs": []}, "outputs is empty"),
        ({"outputs": "out"}, "write ['out']"),
        ({"outputs": ["out", "out"]}, "'out' twice"),
        ({"mutates": ["x"], "zeroes": ["x"]}, "'x' is in both mutates and zeroes"),
        ({"problems": []}, "problems is empty"),
        ({"problems": [{"n": 4}]}, "holds a dict"),
        ({"space": Space(n=[1, 2])}, "both a parameter and a problem field"),
        ({"space": Space(BLOCK=[1]).where("BLOK > 0")}, "did you mean BLOCK?"),
        ({"space": Space(BLOCK=[1]).where("BLOCK > N")}, "did you mean n?"),
        ({"space": Space(BLOCK=[1]).where("device.smcount > BLOCK")}, "did you mean sm_count?"),
        ({"buckets": {"N": next_power_of_two}}, "did you mean n?"),
        ({"buckets": {"q": next_power_of_two}}, "known are dtype, n"),
        ({"buckets": {"n": lambda n: n + 1}}, "something else again"),
        ({"default": {"BLOCK": 100}}, "BLOCK=100 is not one of 64, 128"),
        ({"default": {"BLOCK": True}}, "BLOCK=True is not one of"),
        ({"default": {"BLOK": 64}}, "'BLOCK' is missing"),
        ({"default": {"BLOK": 64, "BLOCK": 64}}, "'BLOK' is not in the space"),
    ],
)
def test_a_fault_is_named(changes, said):
    with pytest.raises(DefinitionError) as caught:
        definition(**changes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_faults_are_told_at_once():
    with pytest.raises(DefinitionError) as caught:
        definition(outputs=[], default={"BLOCK": 1}, space=Space(BLOCK=[2]).where("A > B"))
    assert len(caught.value.faults) == 4


def test_a_right_definition_has_a_default_and_tolerances():
    kernel = definition(default={"BLOCK": 64}, tolerances={"float16": Tolerance(1e-3)})
    assert kernel.default_config == Config(BLOCK=64)
    assert definition().default_config is None
    assert kernel.tolerance("float16") == Tolerance(1e-3)
    assert kernel.tolerance("bfloat16").relative > 1e-3
    assert kernel.tolerance("int32") == Tolerance(0.0)


@given(st.integers(1, 5000))
def test_a_bucket_stands_for_all_its_lengths_and_is_never_smaller(n):
    kernel = definition(buckets={"n": next_power_of_two})
    tuned = kernel.bucketed(Problem(n=n, dtype="float32"))
    assert tuned.n >= n
    assert tuned.dtype == "float32"
    assert kernel.bucketed(tuned) == tuned


def test_a_thousand_lengths_of_one_bucket_are_one_problem():
    kernel = definition(buckets={"n": next_power_of_two})
    assert {kernel.bucketed(Problem(n=n, dtype="float32")) for n in range(1025, 2025)} == {
        Problem(n=2048, dtype="float32")
    }


@pytest.mark.parametrize("value", ["many", 1.5, True])
def test_only_integers_fall_into_buckets(value):
    kernel = definition(buckets={"n": next_power_of_two})
    with pytest.raises(DefinitionError, match="needs an integer n"):
        kernel.bucketed(Problem(n=value, dtype="float32"))


def test_without_buckets_a_problem_stands_for_itself():
    problem = Problem(n=1000, dtype="float32")
    assert definition().bucketed(problem) == problem
    assert len(definition(space=Space(BLOCK=powers_of_two(1, 8))).space.bind(problem)) == 4
