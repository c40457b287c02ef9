"""Enumeration finds exactly what trying every combination would, and accounts for the rest."""

import itertools
import time

import pytest
from hypothesis import given, settings

from autotune_lab import DefinitionError, Parameter, Problem, Space
from autotune_lab.spaces import enumeration
from tests import strategies


def by_trying_all(declared):
    """Return the valid rows by asking Python itself about each combination."""
    names = list(declared.values)
    columns = [sorted(values) for values in declared.values.values()]
    for row in itertools.product(*columns):
        scope = dict(zip(names, row, strict=True))
        if all(eval(rule, {}, scope) for rule in declared.rules):
            yield scope


@settings(max_examples=40)
@given(strategies.declared_spaces())
def test_it_finds_what_trying_all_finds_in_lexicographic_order(declared):
    bound = declared.space.bind({}, required=False)
    assert [dict(config) for config in bound] == list(by_trying_all(declared))


@settings(max_examples=40)
@given(strategies.declared_spaces())
def test_every_combination_is_valid_or_rejected_by_a_named_rule(declared):
    bound = declared.space.bind({}, required=False)
    assert bound.size + sum(bound.rejections.values()) == bound.raw_size
    assert set(bound.rejections) == {" ".join(rule.split()) for rule in declared.rules}


def test_each_enumerated_config_of_a_mixed_space_has_one_status():
    space = Space(BLOCK_M=[48, 64], num_warps=[3, 4, 64]).where("BLOCK_M != 48 or num_warps != 4")
    bound = space.bind(Problem(M=1))
    assert bound.rejections == {"BLOCK_M != 48 or num_warps != 4": 1}
    assert bound.size == 5


def test_2000_points_of_which_a_fifth_is_illegal():
    space = Space(A=range(20), B=range(10), C=range(10)).where("A + B > 4 or C > 8")
    legal = sum(a + b > 4 or c > 8 for a in range(20) for b in range(10) for c in range(10))
    bound = space.bind({})
    assert (bound.raw_size, bound.size) == (2000, legal)
    assert bound.rejections == {"A + B > 4 or C > 8": 2000 - legal}


def test_one_config_is_a_space_and_none_is_an_error():
    assert len(Space(A=[1]).bind({})) == 1
    with pytest.raises(DefinitionError, match="'A > 1' rejects 1") as caught:
        Space(A=[1]).where("A > 1").bind(Problem(M=8))
    assert "M=8" in str(caught.value)
    assert len(Space(A=[1]).where("A > 1").bind({}, required=False)) == 0


def test_the_error_of_an_empty_space_counts_what_each_rule_rejects():
    space = Space(A=[1, 2, 3], B=[1, 2]).where("A > 1").where("B > A")
    with pytest.raises(DefinitionError, match="after 'B > A' none is left") as caught:
        space.bind({})
    assert "'A > 1' rejects 2, 'B > A' rejects 4" in str(caught.value)


def test_a_rule_about_the_problem_alone_decides_for_all():
    space = Space(A=[1, 2]).where("K % 16 == 0", reason="aligned rows")
    assert len(space.bind({"K": 32})) == 2
    with pytest.raises(DefinitionError, match="K % 16 == 0"):
        space.bind({"K": 33})


def test_a_space_is_never_changed():
    space = Space(A=[1, 2])
    space.where("A > 1")
    space.heuristic("A > 1")
    assert len(space.bind({})) == 2
    with pytest.raises(AttributeError):
        space.parameters = ()


def test_a_parameter_can_be_given_ready_made_under_its_own_name():
    space = Space(A=Parameter("A", [3, 1], ordered=False))
    assert space.parameters[0].values == (3, 1)
    with pytest.raises(DefinitionError, match=r"'B'.*'A'"):
        Space(B=Parameter("A", [1]))


def test_all_faults_of_a_space_are_told_at_once():
    with pytest.raises(DefinitionError) as caught:
        Space(A=[], B=[1, True], C=[2])
    assert "parameter 'A'" in str(caught.value)
    assert "parameter 'B'" in str(caught.value)
    assert "'C'" not in str(caught.value)
    with pytest.raises(DefinitionError, match="no parameters"):
        Space()


def test_the_order_of_numbers_does_not_make_another_space():
    first = Space(A=[1, 2, 4], B=[8, 16]).where("A * B > 8").bind({})
    second = Space(A=[4, 1, 2], B=[16, 8]).where("A * B > 8").bind({})
    assert list(first) == list(second)


def test_extending_a_space_by_a_value_adds_its_configs_and_keeps_the_ids_of_the_others():
    before = {config.id for config in Space(A=[1, 2], B=[1]).bind({})}
    after = {config.id for config in Space(A=[1, 2, 3], B=[1]).bind({})}
    assert before < after
    assert len(after - before) == 1


@pytest.mark.parametrize(
    "rules",
    [
        ["P0 + P1 < 12", "P2 * P3 * P4 > 3 and P5 % 2 == 0", "P0 != P5"],
        ["P0 + P1 * P2 - P3 * P4 + P5 < 60"],
    ],
)
def test_a_million_combinations_take_under_five_seconds(rules):
    space = Space(**{f"P{i}": range(10) for i in range(6)})
    for rule in rules:
        space = space.where(rule)
    started = time.process_time()
    bound = space.bind({})
    assert time.process_time() - started < 5.0
    assert bound.raw_size == 10**6
    assert 0 < bound.size < 10**6


def test_a_space_beyond_all_bounds_is_an_error_and_a_constrained_one_is_not(monkeypatch):
    monkeypatch.setattr(enumeration, "MAX_ROWS", 1000)
    wide = {f"P{i}": range(10) for i in range(9)}
    with pytest.raises(DefinitionError, match="1,000 combinations"):
        Space(**wide).bind({})
    narrow = Space(**wide)
    for i in range(8):
        narrow = narrow.where(f"P{i} == P{i + 1}")
    assert len(narrow.bind({})) == 10
