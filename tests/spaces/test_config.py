"""Configs are equal when they mean the same launch, and only then."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab import Config, DefinitionError

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.floats(allow_nan=False, allow_infinity=False),
)
CONFIGS = st.dictionaries(
    st.sampled_from(["A", "B", "num_warps", "x"]), SCALARS | st.tuples(SCALARS, SCALARS)
)


@given(CONFIGS, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(items, random):
    shuffled = list(items.items())
    random.shuffle(shuffled)
    assert Config(items) == Config(dict(shuffled))
    assert Config(items).id == Config(dict(shuffled)).id
    assert str(Config(items)) == str(Config(dict(shuffled)))


@given(CONFIGS)
def test_json_and_pickle_give_it_back(items):
    import json

    config = Config(items)
    assert Config.from_plain(json.loads(config.to_json())) == config
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"A": 1}, {"A": True}),
        ({"A": 0}, {"A": False}),
        ({"A": 1}, {"A": "1"}),
        ({"A": (1,)}, {"A": (True,)}),
        ({"A": None}, {}),
        ({"A": 1, "B": 2}, {"A": 2, "B": 1}),
        ({"A": 1}, {"B": 1}),
        ({"A": 1}, {"A": 1, "num_ctas": 1}),
    ],
)
def test_a_difference_in_any_launch_field_is_another_id(first, second):
    assert Config(first).id != Config(second).id
    assert Config(first) != Config(second)


def test_numbers_of_any_library_are_the_same_number():
    plain = Config(A=128, B=0.5, flag=True)
    foreign = Config(A=np.int64(128), B=np.float32(0.5), flag=np.bool_(True))
    assert plain == foreign
    assert Config(A=128.0) == Config(A=128)
    assert [type(foreign[name]) for name in ("A", "B", "flag")] == [int, float, bool]
    assert foreign.to_json() == '{"A":128,"B":0.5,"flag":true}'


def test_it_unpacks_into_a_call_and_can_key_a_dict():
    config = Config(A=1, B=2)
    assert (lambda **values: values)(**config) == {"A": 1, "B": 2}
    assert {config: "x"}[Config(B=2, A=1)] == "x"


def test_a_value_that_is_no_constant_is_refused_by_name():
    with pytest.raises(DefinitionError, match="config key A"):
        Config(A=object())
