"""What a budget buys: distinct, legal configs, each measured once, whoever measures them."""

import subprocess
import sys
from collections import Counter

import pytest

from autotune_lab import Config, Problem
from autotune_lab.errors import DefinitionError, NoSurvivor
from autotune_lab.records import Outcome, TrialState
from autotune_lab.tuning.events import ContextOpened, Notice, ScreeningEnded, TrialFinished
from autotune_lab.tuning.study import Budget
from tests.tuning.labs import Lab

SQUARE = "Space(a=range(6), b=range(6))"


def time_of(config):
    return 1.0 + 0.1 * abs(config["a"] - 3) + 0.05 * abs(config["b"] - 2)


def ended(lab: Lab) -> str:
    return next(e.reason for e in reversed(lab.events) if isinstance(e, ScreeningEnded))


@pytest.mark.parametrize("sampler", ["random", "exhaustive", "tpe"])
def test_a_budget_beyond_the_space_measures_each_config_once(lab, sampler):
    lab.write(space=SQUARE)
    device = lab.record(time_of)
    lab.run(device, trials=60, samplers=[sampler])
    trials = lab.trials()
    assert len(trials) == len({trial.config for trial in trials}) == 36
    assert ended(lab) == "space exhausted"


def test_a_budget_counts_what_is_stored_and_changes_none_of_it(lab):
    lab.write(space=SQUARE)
    device = lab.record(time_of)
    lab.run(device, trials=10)
    before = {trial.id: trial for trial in lab.trials()}
    assert len(before) == 10
    assert ended(lab) == "trial budget spent"
    lab.run(device, trials=25)
    after = {trial.id: trial for trial in lab.trials()}
    assert len(after) == 25
    screened = {i: (t.config, t.state, t.measurements[0]) for i, t in before.items()}
    assert screened == {
        i: (after[i].config, after[i].state, after[i].measurements[0]) for i in before
    }
    lab.events.clear()
    lab.run(device, trials=25)
    assert not [event for event in lab.events if isinstance(event, TrialFinished)]
    assert next(e for e in lab.events if isinstance(e, ContextOpened)).known == 25


def test_one_more_value_measures_only_the_configs_it_adds(lab):
    lab.write(space="Space(a=range(3), b=range(2))")
    lab.run(lab.record(time_of))
    lab.write(space="Space(a=range(4), b=range(2))")
    lab.events.clear()
    device = lab.record(time_of, name="wider.jsonl.gz")
    lab.run(device)
    added = [event.trial.config for event in lab.events if isinstance(event, TrialFinished)]
    assert sorted(config["a"] for config in added) == [3, 3]


def test_the_same_seed_tries_the_same_configs(lab, tmp_path_factory):
    orders = []
    for _ in range(2):
        other = Lab(tmp_path_factory.mktemp("lab"))
        other.write(space=SQUARE)
        other.run(other.record(time_of), trials=12, seeds=[7])
        orders.append([trial.config for trial in other.trials()])
    assert orders[0] == orders[1]


def test_equal_failures_in_a_row_end_the_study_early_and_say_why(lab):
    lab.write(space=SQUARE)
    broken = Outcome(TrialState.LAUNCH_ERROR, reason="no such symbol")
    device = lab.record(lambda config: broken)
    result = lab.run(device)
    assert ended(lab) == "20 equal failures in a row (launch_error: no such symbol)"
    assert len(lab.trials()) == 20
    assert isinstance(result.failures[0].error, NoSurvivor)
    assert result.failures[0].error.counts == {"launch_error": 20}


def test_predicted_shortages_in_a_row_do_not_end_the_study(lab):
    lab.write(space="Space(a=range(30), b=[0])")
    short = Outcome(TrialState.OUT_OF_RESOURCES, reason="out of resource: shared memory")
    device = lab.record(lambda config: 1.0 if config["a"] == 29 else short)
    result = lab.run(device, samplers=["exhaustive"])
    assert Counter(t.state.value for t in lab.trials()) == {"ok": 1, "out_of_resources": 29}
    assert "no_competition" in result.picks[0].flags


def test_an_illegal_option_is_a_trial_with_a_reason_and_is_never_run(lab):
    lab.write(space="Space(num_warps=[2, 3, 4])")
    device = lab.record(lambda config: 1.0)
    lab.run(device)
    illegal = [trial for trial in lab.trials() if trial.state is TrialState.ILLEGAL]
    assert [(trial.config["num_warps"], trial.reason) for trial in illegal] == [
        (3, "num_warps=3 is not a power of two")
    ]


def test_changed_code_opens_a_new_context_and_says_so(lab):
    lab.write(space=SQUARE)
    device = lab.record(time_of)
    lab.run(device, trials=5)
    lab.write(space=SQUARE, launch="args['out'].copy_(args['x'] + 1.0); return 2.0")
    lab.events.clear()
    import autotune_lab.catalog as catalog

    assert catalog is not None
    completed = subprocess.run(
        [sys.executable, "-m", "autotune_lab", "tune", lab.reference, "--device", device,
         "--sampler", "random", "--trials", "5"],
        cwd=lab.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    assert "kernel code changed" in completed.stderr
    assert len(lab.trials()) == 10


def test_two_processes_share_one_grid_without_a_repeat(lab):
    lab.write(space=SQUARE)
    device = lab.record(time_of)
    lab.store().close()
    command = [
        sys.executable, "-m", "autotune_lab", "tune", lab.reference, "--device", device,
        "--sampler", "exhaustive",
    ]  # fmt: skip
    both = [
        subprocess.Popen(command, cwd=lab.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    trials = lab.trials()
    assert len(trials) == len({trial.config for trial in trials}) == 36


def test_seconds_end_a_screening(lab):
    lab.write(space="Space(a=range(100), b=range(100))")
    device = lab.record(time_of)
    lab.run(device, budget=Budget(trials=None, seconds=0.05))
    assert ended(lab) == "time budget spent"
    assert 0 < len(lab.trials()) < 10_000


def test_dead_runs_are_swept_with_a_notice(lab):
    lab.write(space=SQUARE)
    device = lab.record(time_of)
    lab.run(device, trials=3)
    with lab.store() as store:
        context = store.contexts()[0]
        claimed = lab.trials()[0].config
        unseen = next(c for c in _configs(lab) if c not in {t.config for t in lab.trials()})
    code = (
        "import sys\n"
        "from autotune_lab import Store, Config\n"
        f"store = Store.open('sqlite:///{lab.root}/lab.db')\n"
        "run = store.begin_run('test', {})\n"
        f"store.claim(run, '{context.id}', Config({dict(unseen)!r}), 4)\n"
        "import os; os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert claimed is not None
    lab.events.clear()
    lab.run(device)
    notices = [event.text for event in lab.events if isinstance(event, Notice)]
    assert "1 trials of runs that died are marked interrupted" in notices
    states = Counter(t.state.value for t in lab.trials())
    assert states == {"ok": 36, "interrupted": 1}


def _configs(lab: Lab):
    from autotune_lab import catalog

    definition = catalog.load(lab.reference)
    return definition.space.bind(definition.problems[0], None)


def test_configs_asked_for_besides_are_measured_in_the_space_or_not(lab):
    lab.write(
        space="Space(a=range(4)).heuristic('a != 3')",
        launch="args['out'].copy_(args['x'] + 1); return 1.0 + config['a']",
    )
    problem = Problem(n=64, dtype="float32")
    also = [Config(a=9), Config(a=3), Config(a=0), Config(b=1)]
    lab.run("fake", also={lab.reference: {problem: also}})
    found = {trial.config: trial for trial in lab.trials()}
    assert set(found) == {Config(a=n) for n in range(3)} | set(also)
    assert found[Config(a=9)].state is TrialState.OK  # ten times the best, and not given up
    assert found[Config(a=9)].screen_ms == 10.0
    assert found[Config(b=1)].state is TrialState.LAUNCH_ERROR
    before = len(lab.trials())
    lab.run("fake", also={lab.reference: {problem: also}})
    assert len(lab.trials()) == before
    with pytest.raises(DefinitionError, match="also names 'other'"):
        lab.run("fake", also={"other": {problem: also}})
