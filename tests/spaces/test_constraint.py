"""Constraints read what they name, of parameters, problem and device; errors name the config."""

import dataclasses
import functools

import numpy as np
import pytest

from autotune_lab import DefinitionError, Problem, Space
from autotune_lab.records import DeviceModel
from autotune_lab.spaces.constraint import DEVICE_FIELDS

H200 = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 141 * 2**30, max_shared_bytes=232_448)
MI300 = DeviceModel("AMD MI300X", "amd", "gfx942", 304, 192 * 2**30, warp_size=64)
MATMUL = Problem(M=4096, N=4096, dtype="float16")


def names_of(space, problem=MATMUL, model=None, **options):
    return [tuple(config.values()) for config in space.bind(problem, model, **options)]


def test_device_fields_are_exactly_those_of_a_device_model():
    assert set(DEVICE_FIELDS) == {field.name for field in dataclasses.fields(DeviceModel)}


def test_problem_fields_are_read_bare_or_dotted():
    space = Space(A=[1, 2, 4096, 8192])
    assert names_of(space.where("M % A == 0 and A > 1")) == [(2,), (4096,)]
    assert names_of(space.where("problem.M % A == 0 and A > 1")) == [(2,), (4096,)]
    assert names_of(space.where("A <= itemsize and dtype == 'float16'")) == [(1,), (2,)]


def test_functions_are_called_with_the_names_in_their_signature():
    space = Space(A=[1, 2, 3], B=[1, 2, 3])
    assert names_of(space.where(lambda B, A: A + B == 4, reason="sum")) == [(1, 3), (2, 2), (3, 1)]
    assert names_of(space.where(lambda A, B, M: A * B * 1024 > M, reason="area")) == [
        (2, 3),
        (3, 2),
        (3, 3),
    ]


def test_a_partial_is_a_function_too():
    def above(limit, A):
        return limit < A

    space = Space(A=[1, 2, 3]).where(functools.partial(above, limit=1))
    assert names_of(space) == [(2,), (3,)]
    assert list(space.bind(MATMUL).rejections) == ["partial(A)"]


def test_functions_take_problem_device_and_keep_their_defaults():
    space = Space(A=[1, 2, 3])

    def fits(A, problem, device, *, limit=300, N=1):
        return A * device.sm_count < limit and problem.itemsize == 2 and N == 4096

    assert names_of(space.where(fits), model=H200) == [(1,), (2,)]


def test_a_device_constraint_is_skipped_and_listed_without_a_device():
    space = (
        Space(A=[1, 2])
        .where("A * 100 > device.sm_count")
        .where(lambda device, A: A > 1, reason="f")
    )
    bound = space.bind(MATMUL)
    assert len(bound) == 2
    assert bound.skipped == ("A * 100 > device.sm_count", "f")
    assert bound.rejections == {}
    assert names_of(space, model=H200) == [(2,)]
    assert space.bind(MATMUL, H200).skipped == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("BLOK > 1", "did you mean BLOCK?"),
        ("block > 1", "did you mean BLOCK?"),
        ("BLOCK > device.sm_cuont", "did you mean sm_count?"),
        ("BLOCK > problem.MM", "'problem.MM'"),
        (lambda BLOK: True, "did you mean BLOCK?"),
        ("zzz == 1", "known are BLOCK, M, N, dtype"),
    ],
)
def test_an_unknown_name_is_found_before_anything_runs(rule, said):
    space = Space(BLOCK=[1, 2]).where(rule)
    (fault,) = space.faults({"M", "N", "dtype"})
    assert said in fault
    with pytest.raises(DefinitionError, match="unknown"):
        space.bind(MATMUL, H200)


def test_itemsize_needs_a_dtype():
    space = Space(A=[1]).where("A <= itemsize")
    assert space.faults({"M", "dtype"}) == []
    assert "itemsize" in space.faults({"M"})[0]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("A // B > 1", "ZeroDivisionError.*A=1 B=0"),
        ("A > dtype", "TypeError.*A=1"),
        ("A % 2", "gives 1, which is neither.*A=1"),
        (lambda A: None, "gives None"),
        (lambda A, B: {}[A], "KeyError.*A=1 B=0"),
    ],
)
def test_a_constraint_that_fails_names_itself_and_the_config(rule, said):
    with pytest.raises(DefinitionError, match=said) as caught:
        Space(A=[1, 2], B=[0, 1]).where(rule, reason="sane").bind(MATMUL)
    assert "constraint" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failing_config_that_an_earlier_rule_rejects_is_never_asked_about():
    space = Space(A=[1, 2], B=[0, 1]).where("B > 0").where("A // B > 1")
    assert names_of(space) == [(2, 1)]


def test_numpy_verdicts_are_verdicts():
    assert names_of(Space(A=[1, 2]).where(lambda A: np.bool_(A > 1), reason="r")) == [(2,)]


@pytest.mark.parametrize(
    "rule",
    [lambda *names: True, lambda **names: True, lambda A, /: True, 42, ["A > 1"], max, print],
)
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(DefinitionError, match="constraint"):
        Space(A=[1]).where(rule)


def test_a_launch_option_has_no_rules_of_its_own():
    """What a compiler refuses gets a trial with a reason; hidden here, it would not be counted."""
    bound = Space(num_warps=[0, 3, 8, 64]).bind(MATMUL, MI300)
    assert (bound.size, bound.rejections, bound.skipped) == (4, {}, ())


def test_a_declared_rule_about_threads_follows_the_warp_size():
    space = Space(num_warps=[8, 16, 32, 64]).where("num_warps * device.warp_size <= 1024")
    assert names_of(space, model=H200) == [(8,), (16,), (32,)]
    assert names_of(space, model=MI300) == [(8,), (16,)]


def test_heuristics_are_apart_from_legality_and_can_be_switched_off():
    space = Space(A=[1, 2, 3, 4]).where("A != 2").heuristic("A > 1", reason="one is slow")
    cautious = space.bind(MATMUL)
    assert cautious.rejections == {"A != 2": 1, "heuristic: A > 1": 1}
    assert names_of(space) == [(3,), (4,)]
    assert names_of(space, heuristics=False) == [(1,), (3,), (4,)]
    assert space.bind(MATMUL, heuristics=False).rejections == {"A != 2": 1}
