"""The exported function runs anywhere and answers as the rule does."""

import pytest

from autotune_lab.errors import ExportError
from autotune_lab.exporting import python
from autotune_lab.exporting.base import Options
from autotune_lab.records import Branch, DecisionRule, KernelIdentity
from autotune_lab.spaces.config import Config
from tests.exporting.samples import H200, MATMUL, context, pick

FEW = (Config(BLOCK=16, num_warps=4), Config(BLOCK=128, num_warps=8), Config(BLOCK=64, num_warps=4))
RULE = DecisionRule(
    kind="tree",
    configs=FEW,
    root=Branch("dtype", "float16", yes=Branch("M", 64, yes=0, no=1), no=2),
    problems=9,
    worst_loss=0.02,
    held_out={"tree": (0.04, 0.01), "nearest": (0.3, 0.1), "single": (0.5, 0.2)},
    bound=0.05,
)


def written(picks=None, rule=RULE):
    options = Options(rules={(MATMUL.id, H200.id): rule})
    return python.write(picks or [pick()], options=options)


def function(text):
    scope = {"__builtins__": {}}
    exec(compile(text, "exported", "exec"), scope)
    return scope["config"]


@pytest.mark.parametrize(
    ("m", "dtype", "place"),
    [(1, "float16", 0), (64, "float16", 0), (65, "float16", 1), (1, "bfloat16", 2)],
)
def test_function_answers_as_the_rule_does(m, dtype, place):
    assert function(written())(M=m, N=1, K=1, dtype=dtype) == dict(FEW[place])


def test_every_field_must_be_given():
    with pytest.raises(TypeError, match="dtype"):
        function(written())(M=1, N=1, K=1)


def test_losses_on_held_out_problems_are_told():
    text = written()
    for line in ("tree: at most 4.0%, 1.0%", "nearest: at most 30.0%", "single: at most 50.0%"):
        assert f"Held out, {line}" in text
    assert "'NVIDIA H200'" in text
    assert H200.id in text


def test_single_config_is_a_function_without_a_question():
    rule = DecisionRule("single", FEW[:1], 0, 1, 0.0, {}, 0.05)
    text = written(rule=rule)
    assert " if " not in text
    assert function(text)(M=1, N=1, K=1, dtype="x") == dict(FEW[0])


def test_winners_without_a_rule_are_refused():
    with pytest.raises(ExportError, match="no decision rule for matmul"):
        python.write([pick()], options=Options())


def test_two_versions_of_a_kernel_are_refused():
    other = context(kernel=KernelIdentity("matmul", "beef"))
    with pytest.raises(ExportError, match="more than one version"):
        written([pick(), pick(of=other)])
