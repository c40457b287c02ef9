"""A parameter that nothing takes is found, however the launch code reaches its kernel."""

import functools
import types

import pytest
import triton
import triton.language as tl

from autotune_lab import DefinitionError, Space
from autotune_lab.arguments import unused
from tests.making import definition


@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), GROUP)


HEURISTIC = triton.heuristics({"EVEN": lambda args: True})(kernel)
TABLE = {"plain": kernel}
MODULE = types.SimpleNamespace(kernel=kernel)
FOLDER = types.ModuleType("folder")
FOLDER.kernel = kernel


def by_name(args, config):
    kernel[(1,)](args["x"], **config)


def by_helper(args, config):
    by_name(args, config)


def by_table(args, config):
    TABLE["plain"][(1,)](args["x"], **config)


def by_module(args, config):
    FOLDER.kernel[(1,)](args["x"], **config)


def by_heuristics(args, config):
    HEURISTIC[(1,)](args["x"], **config)


def by_inner_function(args, config):
    def grid(meta):
        return (meta["SPLIT"],)

    kernel[grid](args["x"], BLOCK=config["BLOCK"], GROUP=config["GROUP"])


def by_closure():
    held = kernel
    return lambda args, config: held[(1,)](args["x"], **config)


def by_keyword(chosen, args, config):
    chosen[(1,)](args["x"], **config)


class Launcher:
    def launch(self, args, config):
        kernel[(1,)](args["x"], **config)


WAYS = [
    by_name,
    by_helper,
    by_table,
    by_module,
    by_heuristics,
    by_closure(),
    functools.partial(by_keyword, kernel),
    Launcher().launch,
]


@pytest.mark.parametrize("launch", WAYS)
def test_the_kernel_is_found(launch):
    assert unused(["BLOCK", "GROUP", "num_warps", "BLOK", "ZZZ"], launch) == ["BLOK", "ZZZ"]


def test_what_the_launch_code_itself_reads_is_taken():
    assert unused(["BLOCK", "SPLIT", "OTHER"], by_inner_function) == ["OTHER"]


def test_triton_takes_its_own_options():
    options = ["num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu"]
    assert unused(options, by_name) == []


def test_nothing_is_said_about_a_kernel_that_is_out_of_sight():
    assert unused(["BLOCK"], lambda args, config: None) == []
    assert unused(["BLOCK"], print) == []


def test_a_recursive_launch_ends():
    def again(args, config):
        again(args, config)
        by_name(args, config)

    assert unused(["ZZZ"], again) == ["ZZZ"]


def test_a_definition_names_the_key_that_no_kernel_takes():
    with pytest.raises(DefinitionError, match="'BLOK' is taken by no kernel"):
        definition(space=Space(BLOK=[64], GROUP=[1]), launch=by_name)
