import pytest
import torch

from autotune_lab.errors import DefinitionError, ReferenceUnstable
from autotune_lab.measuring.reference import Reference
from tests.measuring.scripted import PROBLEM, doubling


def reference_of(function, arguments=None, **changes):
    definition = doubling(lambda args, config, count: None, reference=function, **changes)
    arguments = arguments or {"x": torch.ones(4), "n": 4, "y": torch.empty(4)}
    return Reference(definition, PROBLEM, arguments)


def test_floating_inputs_are_upcast_and_others_kept():
    seen = {}

    def function(args):
        seen.update(args)
        return {"y": args["x"] * args["n"]}

    arguments = {"x": torch.ones(4).half(), "i": torch.arange(4), "n": 4, "y": torch.empty(4)}
    outputs = reference_of(function, arguments).outputs()
    assert seen["x"].dtype == torch.float64
    assert seen["i"].dtype == torch.int64
    assert outputs["y"].dtype == torch.float64
    assert outputs["y"].tolist() == [4.0] * 4


def test_it_is_computed_once():
    calls = []

    def function(args):
        calls.append(1)
        return {"y": 2 * args["x"]}

    reference = reference_of(function)
    reference.outputs()
    reference.outputs()
    assert len(calls) == 1


def test_only_what_is_read_is_upcast():
    class Bystander(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.Tensor.to, torch.Tensor.clone):
                raise AssertionError("a bystander was copied")
            return super().__torch_function__(func, types, args, kwargs or {})

    bystander = torch.ones(4).as_subclass(Bystander)
    arguments = {"x": torch.ones(4), "big": bystander, "y": torch.empty(4)}
    assert reference_of(lambda args: {"y": 2 * args["x"]}, arguments).outputs()


def test_accumulators_read_as_zeros():
    arguments = {"x": torch.ones(4), "y": torch.full((4,), 7.0)}
    reference = reference_of(lambda a: {"y": a["y"] + a["x"]}, arguments, zeroes=["y"])
    assert reference.outputs()["y"].tolist() == [1.0] * 4


def test_its_memory_is_its_own():
    kept = torch.full((4,), 5.0, dtype=torch.float64)
    reference = reference_of(lambda args: {"y": kept})
    reference.outputs()
    kept.fill_(0.0)
    assert reference.outputs()["y"].tolist() == [5.0] * 4


def test_altered_memory_is_computed_again():
    reference = reference_of(lambda args: {"y": 2 * args["x"]})
    reference.outputs()["y"].fill_(0.0)
    assert reference.revise()
    assert reference.outputs()["y"].tolist() == [2.0] * 4


def test_a_confirmed_reference_is_not_computed_again():
    calls = []

    def function(args):
        calls.append(1)
        return {"y": 2 * args["x"]}

    reference = reference_of(function)
    reference.outputs()
    reference.confirm()
    assert not reference.revise()
    assert len(calls) == 1


def test_two_answers_for_the_same_inputs_are_an_error():
    answers = iter([1.0, 2.0])
    reference = reference_of(lambda args: {"y": args["x"] * next(answers)})
    reference.outputs()
    with pytest.raises(ReferenceUnstable, match="reference unstable"):
        reference.revise()


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (lambda args: {}, "no tensor 'y'"),
        (lambda args: {"y": args["x"][:2]}, r"shape \(2,\), not \(4,\)"),
        (lambda args: {"y": args["z"]}, "reference raised KeyError"),
        (lambda args: None, "returns NoneType, not a dict"),
    ],
)
def test_a_useless_reference_is_the_definitions_fault(function, fault):
    with pytest.raises(DefinitionError, match=fault):
        reference_of(function).outputs()
