"""A kernel under ``@triton.autotune`` becomes a definition that means what Triton's tuner meant."""

import contextlib
import re
from pathlib import Path

import pytest
import torch
import triton

from autotune_lab import Config, DefinitionError, KernelDefinition, Problem, UsageError, catalog
from autotune_lab.compiling.compiler import compile_config
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.fingerprint import identify
from autotune_lab.processes import wait
from autotune_lab.records import Limits, MeasureJob, Protocol, TrialState
from tests import autotuned

FILE = Path(autotuned.__file__)
NAMES = ("scaled", "total", "increment", "hooked")
PROTOCOL = Protocol(min_samples=3, max_samples=4, warmup_ms=0)
LARGE, SMALL = autotuned.PROBLEMS


def blocks(definition, problem, **options):
    return [config["BLOCK"] for config in definition.space.bind(problem, **options)]


def test_the_listed_configs_are_the_space():
    assert autotuned.total.space.names == ("BLOCK", "num_warps", "num_stages")
    found = [dict(config) for config in autotuned.total.space.bind(LARGE)]
    assert found == [
        {"BLOCK": 64, "num_warps": 1, "num_stages": 3},
        {"BLOCK": 128, "num_warps": 4, "num_stages": 3},
        {"BLOCK": 512, "num_warps": 4, "num_stages": 4},
    ]


def test_pruning_is_asked_for_each_problem_and_never_sees_data():
    assert blocks(autotuned.scaled, LARGE) == [128, 512]
    assert blocks(autotuned.scaled, SMALL) == [64, 128]


def test_what_the_model_drops_is_a_rule_of_thumb_and_the_early_rule_is_not():
    assert blocks(autotuned.scaled, LARGE, heuristics=False) == [64, 128, 512]
    assert blocks(autotuned.scaled, SMALL, heuristics=False) == [64, 128]


def test_pruning_leaves_the_autotuner_as_it_was():
    autotuner = autotuned.scaled_kernel.fn
    blocks(autotuned.scaled, Problem(n=64))
    assert len(autotuner.configs) == 3
    assert autotuner.nargs is None
    assert "run" not in vars(autotuner)


def test_reset_and_restore_are_taken_over_by_the_names_of_the_inputs():
    assert tuple(autotuned.total.zeroes) == ("total",)
    assert tuple(autotuned.increment.mutates) == ("x",)
    assert tuple(autotuned.scaled.zeroes) == tuple(autotuned.scaled.mutates) == ()


def test_a_config_of_tritons_may_be_the_default():
    assert autotuned.scaled.default_config == Config(BLOCK=128, num_warps=4, num_stages=3)


def made(kernel, **changes):
    """Make a definition of a kernel that takes x, y and n."""
    return KernelDefinition.from_autotuner(
        kernel,
        **{
            "inputs": autotuned.inputs,
            "launch": lambda args: kernel[(1,)](args["x"], args["y"], args["x"].numel()),
            "outputs": ["y"],
            "reference": lambda args: {"y": args["x"]},
            "problems": [LARGE],
            **changes,
        },
    )


def kernel(**options):
    """Autotune the bare kernel of ``scaled`` in another way."""
    settings = {"configs": autotuned.configs(), "key": ["n_elements"], **options}
    return triton.autotune(**settings)(autotuned.scaled_kernel.fn.fn)


FAULTS = {
    "no kernel under @triton.autotune": lambda: made(autotuned.scaled_kernel.fn.fn),
    "its key 'n_elements' is no field of every problem (n)": lambda: made(kernel()),
    "names has 'm', which is no argument of the kernel": lambda: made(
        kernel(), names={"n_elements": "n", "m": "n"}
    ),
    "its pre_hook runs around each measurement": lambda: made(
        kernel(pre_hook=lambda args, reset_only=False: None), names={"n_elements": "n"}
    ),
    "differ in nothing but pre_hook": lambda: made(
        kernel(
            configs=[
                triton.Config({"BLOCK": 64}),
                triton.Config({"BLOCK": 64}, pre_hook=autotuned.set_flag),
            ]
        ),
        names={"n_elements": "n"},
    ),
    "product=True can't choose one": lambda: made(
        kernel(
            configs=[
                triton.Config({"BLOCK": 64}),
                triton.Config({"BLOCK": 128}, pre_hook=autotuned.set_flag),
            ]
        ),
        names={"n_elements": "n"},
        product=True,
    ),
    "problems is empty": lambda: made(kernel(), names={"n_elements": "n"}, problems=[]),
}


@pytest.mark.parametrize("said", FAULTS)
def test_what_can_not_be_taken_over_is_said(said):
    with pytest.raises(DefinitionError, match=re.escape(said)):
        FAULTS[said]()


def test_a_hook_is_accepted_once_the_user_says_what_it_does():
    hooked = kernel(pre_hook=lambda args, reset_only=False: None)
    definition = made(hooked, names={"n_elements": "n"}, zeroes=["y"])
    assert definition.zeroes == ["y"]
    assert definition.mutates == ()


def test_a_key_that_nothing_decides_is_declared_so():
    made(kernel(), names={"n_elements": ""})


def test_product_tunes_all_combinations_of_the_listed_values():
    definition = made(kernel(), names={"n_elements": "n"}, product=True)
    assert len(definition.space.bind(LARGE)) == 3 * 2 * 2
    pruned = kernel(prune_configs_by={"early_config_prune": autotuned.fits_rows})
    definition = made(pruned, names={"n_elements": "n"}, product=True)
    assert len(definition.space.bind(SMALL)) == 2 * 2 * 2


def test_options_beyond_warps_and_stages_are_parameters_where_some_config_sets_them():
    configs = [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 64}, maxnreg=128, num_ctas=2)]
    definition = made(kernel(configs=configs), names={"n_elements": "n"})
    assert definition.space.names == ("BLOCK", "num_warps", "num_stages", "num_ctas", "maxnreg")
    assert [c["maxnreg"] for c in definition.space.bind(LARGE)] == [None, 128]


class Remembering:
    """Stands for the kernel below an autotuner: remembers what it is launched with."""

    def __init__(self, autotuner):
        self.autotuner, self.fn, self.seen = autotuner, autotuner.fn, []

    def run(self, *args, **kwargs):
        self.seen.append(kwargs)


@contextlib.contextmanager
def remembered(autotuner):
    inner = autotuner.fn
    autotuner.fn = stand_in = Remembering(autotuner)
    try:
        yield stand_in.seen
    finally:
        autotuner.fn = inner


@pytest.mark.parametrize("stray", [[{"A": None}, {"A": 5}], [{}, {"A": 5}]], ids=["none", "absent"])
def test_a_value_of_none_is_launched_and_an_absent_one_is_not(stray):
    configs = [triton.Config({"BLOCK": 64, **values}) for values in stray]
    configs.append(triton.Config({"BLOCK": 128, "A": 5}))
    tuner = kernel(configs=configs)
    definition = made(
        tuner,
        names={"n_elements": "n"},
        product=True,
        launch=lambda args: (tuner[(1,)](1, 2, 3), "A")[0],
    )
    with remembered(tuner) as seen:
        definition.launch({}, Config(BLOCK=128, A=None, num_warps=4, num_stages=3))
    assert ("A" in seen[0]) == (stray[0] == {"A": None})
    assert seen[0]["BLOCK"] == 128


def test_values_reach_the_kernel_as_they_were_written():
    configs = [
        triton.Config({"BLOCK": 64, "T": torch.float16}),
        triton.Config({"BLOCK": 64, "T": 3}),
    ]
    tuner = kernel(configs=configs)
    definition = made(
        tuner, names={"n_elements": "n"}, launch=lambda args: (tuner[(1,)](1, 2, 3), "T")[0]
    )
    assert [config["T"] for config in definition.space.bind(LARGE)] == ["float16", 3]
    with remembered(tuner) as seen:
        definition.launch({}, Config(BLOCK=64, T="float16", num_warps=4, num_stages=3))
    assert seen[0]["T"] is torch.float16


def test_a_launch_of_something_else_is_an_error():
    definition = made(kernel(), names={"n_elements": "n"}, launch=lambda args: None)
    config = next(iter(definition.space.bind(LARGE)))
    with pytest.raises(UsageError, match="does not launch the autotuned kernel"):
        definition.launch({}, config)


def test_a_failing_launch_leaves_the_autotuner_as_it_was():
    tuner = kernel()

    def fails(args):
        raise RuntimeError("no")

    definition = made(tuner, names={"n_elements": "n"}, launch=fails)
    with pytest.raises(RuntimeError):
        definition.launch({}, next(iter(definition.space.bind(LARGE))))
    assert len(tuner.configs) == 3


TEXT = FILE.read_text()
EDITS = {
    "another config": ('{"BLOCK": 64}, num_warps=1', '{"BLOCK": 32}, num_warps=1', True),
    "another key": ('key=["n_elements"],', 'key=["n_elements", "x_ptr"],', True),
    "the kernel": ("SCALE * tl.load(x_ptr + offsets))", "tl.load(x_ptr + offsets))", False),
    "a heuristic above": ('{"SCALE": lambda args: 3}', '{"SCALE": lambda args: 4}', False),
    "a heuristic below": ('% args["BLOCK"] == 0', '% args["BLOCK"] == 1', False),
    "the host": ("    n = x.numel()\n", "    n = x.numel() - 1\n", False),
}


def code_of(path, name="scaled"):
    return identify(catalog.load(f"{path}:{name}"), name).code_hash


@pytest.mark.parametrize("edit", EDITS)
def test_the_list_of_configs_is_no_part_of_the_code_and_the_rest_is(edit, tmp_path):
    old, new, is_same = EDITS[edit]
    assert old in TEXT
    text = TEXT.replace(old, new)
    if edit == "another key":
        text = text.replace('names={"n_elements": "n"}', 'names={"n_elements": "n", "x_ptr": "n"}')
    (tmp_path / "autotuned.py").write_text(text)
    assert (code_of(tmp_path / "autotuned.py") == code_of(FILE)) == is_same


def test_a_configs_hook_is_part_of_the_code(tmp_path):
    (tmp_path / "autotuned.py").write_text(TEXT.replace("fill_(2.0)", "fill_(3.0)"))
    other = tmp_path / "autotuned.py"
    assert code_of(other, "hooked") != code_of(FILE, "hooked")
    assert code_of(other, "total") == code_of(FILE, "total")


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory):
    executor = ProcessExecutor("interpreter", Limits(), log_dir=tmp_path_factory.mktemp("logs"))
    executor.start()
    yield executor
    executor.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_config_is_measured_right_in_the_interpreter(interpreter, name):
    definition = getattr(autotuned, name)
    for problem in definition.problems:
        for config in definition.space.bind(problem):
            interpreter.submit(MeasureJob(f"{FILE}:{name}", problem, config, PROTOCOL))
            while (outcome := interpreter.collect()) is None:
                wait(interpreter.children, 10.0)
            assert (outcome.state, outcome.reason) == (TrialState.OK, "")


@pytest.mark.parametrize("name", NAMES)
def test_configs_are_compiled_ahead_of_time(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    definition = getattr(autotuned, name)
    config = list(definition.space.bind(LARGE))[-1]
    outcome = compile_config(definition, LARGE, config, TARGETS["sm_90"].model())
    assert (outcome.state, outcome.reason) == (TrialState.OK, "")
    assert outcome.resources.launches == 1
    assert outcome.resources.threads == 32 * config["num_warps"]
