"""A bound space is a numbered set of configs: lookup, neighbours, snapshots, explicit rows."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings

from autotune_lab import Config, DefinitionError, Parameter, Space, UsageError
from autotune_lab.codec import from_plain, to_plain
from autotune_lab.records import SpaceSnapshot
from autotune_lab.spaces.bound import BoundSpace
from tests import strategies

TILES = Space(BLOCK=[16, 32, 64], num_warps=[1, 2, 4], layout=["row", "column", "padded"]).where(
    "BLOCK >= 16 * num_warps"
)


@settings(max_examples=40)
@given(strategies.declared_spaces())
def test_config_and_index_are_inverse(declared):
    bound = declared.space.bind({}, required=False)
    configs = list(bound)
    assert [bound.index(config) for config in configs] == list(range(bound.size))
    assert [bound.config(i) for i in range(bound.size)] == configs
    assert len(set(configs)) == bound.size


@settings(max_examples=40)
@given(strategies.declared_spaces())
def test_membership_is_exact(declared):
    bound = declared.space.bind({}, required=False)
    valid = set(bound)
    for row in itertools.product(*declared.values.values()):
        config = Config(dict(zip(declared.values, row, strict=True)))
        assert (config in bound) == (config in valid)


@settings(max_examples=40)
@given(strategies.declared_spaces())
def test_neighbours_are_valid_one_step_away_and_mutual(declared):
    bound = declared.space.bind({}, required=False)
    for config in itertools.islice(bound, 20):
        codes = np.array(bound.encode(config))
        for neighbour in bound.neighbours(config):
            assert neighbour in bound
            assert config in bound.neighbours(neighbour)
            assert np.abs(codes - bound.encode(neighbour)).sum() == 1


def test_neighbours_step_in_ordered_parameters_and_jump_in_others():
    bound = TILES.bind({})
    found = bound.neighbours(Config(BLOCK=32, num_warps=2, layout="row"))
    assert found == [
        Config(BLOCK=64, num_warps=2, layout="row"),
        Config(BLOCK=32, num_warps=1, layout="row"),
        Config(BLOCK=32, num_warps=2, layout="column"),
        Config(BLOCK=32, num_warps=2, layout="padded"),
    ]


def test_codes_are_sorted_read_only_places_of_values():
    bound = TILES.bind({})
    assert bound.codes.shape == (bound.size, 3)
    rows = [tuple(row) for row in bound.codes.tolist()]
    assert rows == sorted(set(rows))
    for config, row in zip(bound, rows, strict=True):
        assert [p.values[c] for p, c in zip(bound.parameters, row, strict=True)] == [
            config[p.name] for p in bound.parameters
        ]
    with pytest.raises(ValueError, match="read-only"):
        bound.codes[0, 0] = 1


def test_any_integer_numbers_a_row_and_nothing_else_does():
    bound = TILES.bind({})
    assert bound.config(np.int64(3)) == bound.config(3)
    for beyond in (-1, bound.size):
        with pytest.raises(IndexError):
            bound.config(beyond)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"BLOCK": 100, "num_warps": 1, "layout": "row"}, "BLOCK=100 is not one of 16, 32, 64"),
        ({"BLOCK": 64, "num_warps": True, "layout": "row"}, "num_warps=True is not one of 1, 2, 4"),
        ({"BLOCK": 64, "num_warps": 1}, "'layout' has no value"),
        (
            {"BLOCK": 64, "num_warps": 1, "layuot": "row", "layout": "row"},
            "'layuot'; did you mean layout?",
        ),
        (
            {"BLOCK": 16, "num_warps": 4, "layout": "row"},
            "constraint 'BLOCK >= 16 * num_warps' rejects it",
        ),
        ({"BLOCK": 64, "num_warps": [], "layout": "row"}, "num_warps=()"),
        ({"BLOCK": 64, "num_warps": 1, "layout": object()}, "config key layout"),
    ],
)
def test_a_seed_outside_the_space_is_refused_by_name(config, said):
    bound = TILES.bind({})
    with pytest.raises(UsageError) as caught:
        bound.require(config)
    assert said in str(caught.value)
    assert config not in bound
    with pytest.raises(KeyError):
        bound.index(config)


def test_a_switch_inside_a_tuple_is_no_number():
    bound = Space(A=[(1, 2), (0, 3)]).bind({})
    assert {"A": (True, 2)} not in bound
    assert Config(A=(1.0, 2)) in bound


def test_a_seed_of_the_space_comes_back_as_its_config():
    bound = TILES.bind({})
    seed = {"layout": "row", "num_warps": np.int64(2), "BLOCK": 64.0}
    assert bound.require(seed) == Config(BLOCK=64, num_warps=2, layout="row")
    assert seed in bound


def test_a_snapshot_is_plain_and_fits_its_record():
    bound = Space(tile=[(64, 64), (128, 64)], flag=[False, True], A=[2, 1]).bind({})
    snapshot = json.loads(json.dumps(bound.snapshot(), allow_nan=False))
    record = from_plain(SpaceSnapshot, snapshot)
    assert record.size == 8
    assert record.ordered == ("A",)
    assert to_plain(record) == snapshot


def test_a_stored_space_is_rebuilt_from_snapshot_and_rows():
    bound = TILES.bind({})
    snapshot = json.loads(json.dumps(bound.snapshot()))
    rebuilt = BoundSpace.from_snapshot(snapshot, reversed(list(bound)))
    assert list(rebuilt) == list(bound)
    assert rebuilt.snapshot() == bound.snapshot()
    assert rebuilt.parameters == bound.parameters


def test_explicit_rows_are_a_set_in_order():
    parameters = [Parameter("A", [1, 2, 3]), Parameter("B", ["x", "y"])]
    rows = [{"A": 3, "B": "x"}, {"A": 1, "B": "y"}, {"B": "x", "A": 3}]
    bound = BoundSpace.from_rows(parameters, rows)
    assert list(bound) == [Config(A=1, B="y"), Config(A=3, B="x")]
    assert Config(A=2, B="x") not in bound
    with pytest.raises(UsageError, match="not among the 2 recorded"):
        bound.require({"A": 2, "B": "x"})


def test_explicit_rows_must_fit_their_parameters():
    with pytest.raises(UsageError, match="A=9 is not one of"):
        BoundSpace.from_rows([Parameter("A", [1])], [{"A": 9}])
    with pytest.raises(DefinitionError, match="no rows"):
        BoundSpace.from_rows([Parameter("A", [1])], [])
