"""A fused kernel against what it replaces: by the same protocol where it can be timed."""

import pytest

from autotune_lab import DefinitionError, Problem, Store, UsageError
from autotune_lab.execution.inline import InlineExecutor
from autotune_lab.records import TrialState
from autotune_lab.store.query import Query
from autotune_lab.tuning import benches, fusion
from autotune_lab.tuning.fusion import FusionQuestion, compare
from tests.tuning.labs import Lab

REPLACES = """
import dataclasses, itertools
TURNS = itertools.count()


def unfused(args):
    next(TURNS)
    return {unfused}


scripted = dataclasses.replace(
    scripted, replaces=unfused, work=lambda problem: {{"bytes": 512, "flops": 64}}
)
"""


@pytest.fixture(autouse=True)
def inline(monkeypatch):
    """Run scripted launches in this process: a process of its own takes seconds to start."""
    for module in (fusion, benches):
        monkeypatch.setattr(
            module, "open_executor", lambda spec, limits, log_dir: InlineExecutor(spec, limits)
        )


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    return Lab(tmp_path)


def write(lab, unfused="2.0", replaces=REPLACES, **changes):
    settings = {"space": "Space(a=range(3))", "default": '{"a": 2}', **changes}
    settings.setdefault("launch", "args['out'].copy_(args['x'] + 1); return 1.0 + config['a'] / 4")
    path = lab.write(**settings)
    path.write_text(path.read_text() + replaces.format(unfused=unfused))


def ask(lab, device="fake", **changes):
    lines = []
    with lab.store() as store:
        asked = FusionQuestion(kernel=lab.reference, device=device, rounds=6, **changes)
        (found,) = compare(asked, store, root=lab.root, tell=lines.append)
    return found, lines


def test_both_sides_are_timed_in_turns_and_the_gain_is_their_ratio(lab):
    write(lab, unfused="3.0")
    found, (line,) = ask(lab)
    assert found.held.origin == "the default"
    assert found.fused.times_ms == (1.5,) * 6
    assert found.unfused.times_ms == (3.0,) * 6
    assert (found.gain.median, found.gain.low, found.gain.high) == (2.0, 2.0, 2.0)
    assert "a=2 (the default)" in line
    assert found.fused.moved_bytes == 512.0


def test_what_slows_a_round_slows_both_and_leaves_the_gain(lab):
    helpers = "import random\nDRIFT = {}\n"
    launch = "args['out'].copy_(args['x'] + 1); return float(1 + args['x'][0].item())"
    write(lab, unfused="float(2 + 2 * args['x'][0].item())", helpers=helpers, launch=launch)
    found, _ = ask(lab)
    assert len(set(found.fused.times_ms)) == 6  # fresh inputs in every round
    assert found.gain.low == pytest.approx(2.0)
    assert found.gain.high == pytest.approx(2.0)


def test_the_winner_of_the_store_is_held_and_given_values_go_over_it(lab):
    write(lab)
    lab.run("fake")
    found, _ = ask(lab)
    assert (found.held.origin, found.held.config["a"]) == ("the winner", 0)
    found, _ = ask(lab, given={"a": 1})
    assert found.held.config["a"] == 1
    assert "a=1 as asked" in found.held.origin
    with pytest.raises(UsageError, match="not one of"):
        ask(lab, given={"a": 7})


def test_nothing_is_written_to_the_store(lab):
    write(lab)
    ask(lab)
    with lab.store() as store:
        assert store.contexts(Query(include_simulated=True)) == []


def test_a_side_that_fails_says_why(lab):
    write(lab, unfused="1 / 0")
    found, _ = ask(lab)
    assert found.gain is None
    assert found.unfused.reason == "launch_error: division by zero"
    write(lab, launch="args['out'].copy_(args['x']); return 1.0")
    found, _ = ask(lab)
    assert found.fused.reason.startswith(TrialState.WRONG_RESULT)
    assert found.unfused.reason == ""


def test_a_kernel_that_replaces_nothing_is_refused(lab):
    write(lab, replaces="")
    with pytest.raises(UsageError, match="which PyTorch operations it replaces"):
        ask(lab)


def test_without_a_gpu_bytes_are_counted_and_nothing_is_timed(lab):
    write(lab, unfused="args['x'] + 1")
    device = lab.record(lambda config: 2.0 + config["a"])
    found, _ = ask(lab, device)
    assert (found.is_timed, found.gain, found.fused.time) == (False, None, None)
    assert found.unfused.moved_bytes == 2 * 64 * 4
    lab.run(device)
    found, _ = ask(lab, device)
    assert found.held.origin == "the winner"
    assert found.fused.time.median == pytest.approx(2.0, rel=0.01)


def test_what_needs_data_to_be_counted_says_so(lab):
    write(lab, unfused="args['x'].nonzero()")
    found, _ = ask(lab, lab.record(lambda config: 2.0))
    assert found.unfused.moved_bytes is None
    assert "can't be counted without data" in found.unfused.reason


@pytest.mark.parametrize("name", ["matmul_bias_activation", "flash_attention", "row_softmax"])
def test_bundled_kernels_save_what_their_fusion_promises(name, tmp_path):
    with Store.open(str(tmp_path / "lab.db")) as store:
        asked = FusionQuestion(kernel=name, device="replay")
        found = compare(asked, store, root=tmp_path, tell=lambda line: None)
    for comparison in found:
        problem: Problem = comparison.context.context.problem
        ratio = comparison.unfused.moved_bytes / comparison.fused.moved_bytes
        is_fused = name == "matmul_bias_activation" and problem.activation != "none"
        assert 2 < ratio < 4 if is_fused else 0.9 < ratio < 2, problem


def test_measuring_what_is_not_replaced_is_the_definitions_fault(lab):
    from tests.measuring import scripted

    with pytest.raises(DefinitionError, match="declares no replaces"):
        scripted.run(scripted.timed(1.0), replaced=True)
