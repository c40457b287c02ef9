"""A sweep measures each value in rounds, holds the rest, and stores what it measures."""

import pytest

from autotune_lab import Problem, UsageError
from autotune_lab.execution.inline import InlineExecutor
from autotune_lab.records import Phase, Protocol, TrialState
from autotune_lab.tuning import benches
from autotune_lab.tuning.sweep import SweepQuestion, sweep
from tests.tuning.labs import Lab

SPACE = (
    "Space(BLOCK=[16, 32, 64, 128], warps=[1, 2])"
    ".where('BLOCK <= 4 * n').heuristic('BLOCK >= 32 * warps')"
)
LAUNCH = (
    "args['out'].copy_(args['x'] + 1); "
    "return 1.0 + abs(config['BLOCK'] - args['x'].numel()) / 100 + config['warps']"
)
# That of ``Lab.run``, so that trials are those of one context.
PROTOCOL = Protocol(playoff_rounds=3, max_samples=5)
PROBLEMS = ", ".join(f"Problem(n={n}, dtype='float32')" for n in (64, 16, 8))


@pytest.fixture(autouse=True)
def inline(monkeypatch):
    """Run scripted launches in this process: a process of its own takes seconds to start."""
    monkeypatch.setattr(
        benches, "open_executor", lambda spec, limits, log_dir: InlineExecutor(spec, limits)
    )


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    lab = Lab(tmp_path)
    path = lab.write(
        space=SPACE, launch=LAUNCH, problems=PROBLEMS, default='{"BLOCK": 64, "warps": 2}'
    )
    path.write_text(path.read_text().replace("torch.rand(64,", "torch.rand(problem.n,")
                    .replace("torch.empty(64,", "torch.empty(problem.n,"))  # fmt: skip
    return lab


def ask(lab, device="fake", parameter="BLOCK", **changes):
    with lab.store() as store:
        asked = SweepQuestion(
            kernel=lab.reference, parameter=parameter, device=device, **{"rounds": 6, **changes}
        )
        return sweep(asked, store, root=lab.root, observe=lab.events.append)


def test_every_value_is_measured_with_the_rest_held_even_against_rules_of_thumb(lab):
    found = ask(lab)
    table = found.table.set_index("value")
    assert list(table.index) == [16, 32, 64, 128]
    assert {config["warps"] for config in table["config"]} == {2}
    assert table["median_ms"].to_dict() == pytest.approx({16: 3.48, 32: 3.32, 64: 3.0, 128: 3.64})
    assert set(table["rounds"]) == {6}
    assert table.loc[64, "is_best"]
    assert found.held.origin == "the default"
    assert any("held: warps=2 (the default)" in str(event) for event in lab.events)


def test_trials_are_stored_as_any_other_and_nothing_is_measured_twice(lab):
    ask(lab)
    first = lab.trials()
    assert [trial.state for trial in first] == [TrialState.OK] * 4
    assert {m.phase for trial in first for m in trial.measurements} == {Phase.SWEEP}
    assert [sorted(m.round for m in trial.measurements) for trial in first] == [list(range(7))] * 4
    ask(lab)
    assert lab.trials() == first
    ask(lab, rounds=8)
    assert [len(trial.measurements) for trial in lab.trials()] == [9] * 4
    with lab.store() as store:
        (study,) = store.studies()
    assert (study.name, study.state) == ("sweep scripted BLOCK", "done")


def test_what_it_measured_counts_in_a_later_study(lab):
    ask(lab, protocol=PROTOCOL)
    result = lab.run("fake", trials=3, problems={lab.reference: [Problem(n=64, dtype="float32")]})
    (pick,) = result.picks
    assert pick.config["BLOCK"] == 64
    assert pick.rounds == 3


def test_the_winner_is_held_once_there_is_one_and_given_values_go_over_it(lab):
    lab.run("fake", samplers=["exhaustive"])
    found = ask(lab)
    assert found.held.origin == "the winner"
    assert {config["warps"] for config in found.table["config"]} == {1}
    found = ask(lab, given={"warps": 2})
    assert {config["warps"] for config in found.table["config"]} == {2}


def test_a_field_is_swept_beside_it_with_the_same_config_held(lab):
    found = ask(lab, over="n")
    assert list(dict.fromkeys(found.table["over"])) == [8, 16, 64]
    best = found.table[found.table["is_best"]].set_index("over")["value"].to_dict()
    assert best == {8: 16, 16: 16, 64: 64}
    small = found.table[found.table["over"] == 8].set_index("value")
    assert small.loc[64, "state"] == "not valid"
    assert "BLOCK <= 4 * n" in small.loc[64, "reason"]
    found = ask(lab, over="n", over_values=[32])
    assert set(found.table["problem"]) == {"n=32,dtype=float32"}


def test_a_value_that_fails_is_a_row_with_its_reason(lab):
    path = lab.root / "search_spaces" / "scripted.py"
    body = "if config['BLOCK'] == 32: raise ValueError('no 32')\n    args['out'].copy_"
    path.write_text(path.read_text().replace("args['out'].copy_", body, 1))
    row = ask(lab).table.set_index("value").loc[32]
    assert (row["state"], row["reason"]) == ("launch_error", "no 32")


def test_a_value_that_screening_gave_up_is_measured_after_all(lab):
    path = lab.root / "search_spaces" / "scripted.py"
    path.write_text(path.read_text().replace("/ 100", "* 100"))
    base = {lab.reference: [Problem(n=64, dtype="float32")]}
    lab.run("fake", samplers=["exhaustive"], problems=base)
    assert TrialState.PRUNED in {trial.state for trial in lab.trials()}
    table = ask(lab, protocol=PROTOCOL).table
    assert table["rounds"].min() == 6
    assert "pruned" in set(table["state"])


def test_a_recording_answers_with_rounds_drawn_from_its_samples(lab):
    device = lab.record(lambda config: 1.0 + config["BLOCK"] / 100)
    found = ask(lab, device)
    table = found.table.set_index("value")
    assert "replayed" in found.notice
    assert table.loc[64, "median_ms"] == pytest.approx(1.64, rel=0.01)
    assert (table["high_ms"] > table["low_ms"]).any()
    assert table.loc[16, "state"] == "illegal"  # recorded is only what the rules of thumb leave


FAULTS = {
    "has no parameter 'BLOK'; did you mean BLOCK": {"parameter": "BLOK"},
    "has no field 'm'": {"over": "m"},
    "warps=3 is not one of": {"given": {"warps": 3}},
    "has no field 'k'": {"problem": Problem(k=1, n=2, dtype="float32")},
}


@pytest.mark.parametrize("said", FAULTS)
def test_what_makes_no_sense_is_said(lab, said):
    with pytest.raises(UsageError, match=said):
        ask(lab, **FAULTS[said])
