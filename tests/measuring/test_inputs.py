import pytest
import torch

from autotune_lab import Problem
from autotune_lab.errors import DefinitionError
from autotune_lab.measuring.inputs import ProblemCache, input_seed
from tests.measuring.scripted import PROBLEM, doubling, doubling_inputs


def sets(definition, *, problem=PROBLEM, seed=1, substitutes=None, l2_bytes=0, cache=None):
    return (cache or ProblemCache()).sets(
        definition,
        problem,
        device="cpu",
        seed=seed,
        substitutes=substitutes or {},
        l2_bytes=l2_bytes,
    )


def launch(args, config, count):
    return None


def test_equal_seeds_give_equal_inputs_and_others_do_not():
    definition = doubling(launch)
    one, same, other = (sets(definition, seed=s)[0].arguments["x"] for s in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.abs().min() > 0


@pytest.mark.parametrize(("l2_bytes", "count"), [(0, 1), (511, 1), (512, 2), (1024, 3), (2**20, 4)])
def test_sets_are_rotated_when_one_fits_in_the_l2(l2_bytes, count):
    made = sets(doubling(launch), l2_bytes=l2_bytes)
    assert len(made) == count
    assert len({float(s.arguments["x"][0]) for s in made}) == count


def test_sets_are_kept_until_something_else_is_asked():
    cache, definition = ProblemCache(), doubling(launch)
    first = sets(definition, cache=cache)
    assert sets(definition, cache=cache) is first
    assert sets(definition, cache=cache, seed=2) is not first
    again = sets(definition, cache=cache)
    cache.drop()
    assert sets(definition, cache=cache) is not again


def test_seeds_differ_by_round_and_root():
    seeds = {input_seed(root, number) for root in range(20) for number in range(20)}
    assert len(seeds) == 400


def test_what_is_written_is_not_the_users_tensor_and_what_is_read_is():
    made = {}

    def inputs(problem, device, generator):
        made.update(doubling_inputs(problem, device, generator))
        return dict(made)

    arguments = sets(doubling(launch, inputs=inputs))[0].arguments
    assert arguments["x"] is made["x"]
    assert arguments["y"].data_ptr() != made["y"].data_ptr()


def test_mutated_arguments_are_restored_and_accumulators_zeroed():
    def inputs(problem, device, generator):
        return {name: torch.full((4,), 3.0) for name in ("x", "y", "acc")}

    definition = doubling(
        launch, inputs=inputs, outputs=["x", "acc"], mutates=["x"], zeroes=["acc"]
    )
    (made,) = sets(definition)
    for name in ("x", "acc"):
        made.arguments[name].fill_(9.0)
    made.restore()
    assert made.arguments["x"].tolist() == [3.0] * 4
    assert made.arguments["acc"].tolist() == [0.0] * 4
    made.poison()
    assert made.arguments["x"].tolist() == [3.0] * 4
    assert made.arguments["acc"].tolist() == [0.0] * 4


def test_a_changed_input_is_named():
    (made,) = sets(doubling(launch))
    made.remember()
    assert made.changed() == []
    made.arguments["x"][3] += 1
    assert made.changed() == ["x"]


def test_a_dtype_that_the_device_lacks_is_replaced_after_rounding():
    problem = Problem(n=64, dtype="bfloat16")
    definition = doubling(launch, problems=[problem])
    (real,) = sets(definition, problem=problem)
    (stand_in,) = sets(definition, problem=problem, substitutes={"bfloat16": "float32"})
    assert stand_in.arguments["x"].dtype == torch.float32
    assert torch.equal(stand_in.arguments["x"], real.arguments["x"].float())
    assert stand_in.stand_ins == {"x": "bfloat16", "y": "bfloat16"}


def test_a_missing_argument_is_named_with_what_there_is():
    with pytest.raises(DefinitionError, match=r"no tensor 'z'.*returns x, y"):
        sets(doubling(launch, outputs=["z"]))


def test_inputs_that_raise_are_the_definitions_fault():
    def inputs(problem, device, generator):
        raise KeyError("oops")

    with pytest.raises(DefinitionError, match="inputs raised KeyError: 'oops'") as caught:
        sets(doubling(launch, inputs=inputs))
    assert isinstance(caught.value.__cause__, KeyError)
