import numpy as np
import pytest

from autotune_lab.analysis.selection import decide
from autotune_lab.analysis.stability import Run, stability
from tests.analysis.making import context, trial


def run_of(seed, times, spread, rounds=9):
    """Play one run: fresh noise, the lab's own decision."""
    rng = np.random.default_rng(seed)
    trials = []
    for block, ms in enumerate(times):
        played = ms * (1 + spread * rng.standard_normal(rounds))
        trials.append(trial(block, ms, played=list(played)))
    pick = decide(context(), trials)
    medians = {
        t.config.id: float(np.median([m.median_ms for m in t.measurements if m.round]))
        for t in trials
    }
    fastest = min(medians, key=medians.get)
    return Run(fastest, frozenset(pick.tied), medians)


def test_two_configs_half_a_percent_apart_under_noise_are_a_tie_that_flips():
    runs = [run_of(seed, [1.0, 1.005], 0.03) for seed in range(20)]
    chosen = [r for r in runs if r.winner == runs[0].winner][:2]
    chosen += [r for r in runs if r.winner != runs[0].winner][:1]
    found = stability(chosen, noise=0.03)
    assert found.agreement == 2
    assert found.is_tie
    assert found.verdict.startswith("tie, winner changed between runs, agreement 2 of 3, regret ")
    assert found.regret_low == 0
    assert 0 < found.regret_high < 0.05
    assert "overfit" not in found.verdict
    assert found.flip_rate == pytest.approx(1 / 3)


def test_two_configs_a_fifth_apart_are_stable():
    found = stability([run_of(seed, [1.0, 1.2], 0.03) for seed in range(3)])
    assert found.verdict == "stable, 3 of 3"
    assert (found.flip_rate, found.is_tie) == (0, False)
    assert 0 < found.time_range < 0.1


def test_winners_that_differ_for_real_are_no_tie():
    found = stability(
        [Run("a", times_ms={"a": 1.0, "b": 1.3}), Run("b", times_ms={"a": 1.3, "b": 1.0})],
        noise=0.02,
    )
    assert not found.is_tie
    assert found.verdict.startswith("winner changed between runs, agreement 1 of 2")


def test_what_is_not_known_is_said():
    assert stability([]).verdict == "no runs"
    assert "unknown" in stability([Run("a")]).verdict
    untimed = stability([Run("a"), Run("b")])
    assert (untimed.is_tie, untimed.regret_high, untimed.time_range) == (False, None, None)
    assert untimed.verdict == "winner changed between runs, agreement 1 of 2"
    apart = stability([Run("a", times_ms={"a": 1.0}), Run("b", times_ms={"b": 1.0})])
    assert apart.regret_high is None


def test_a_run_is_made_of_a_pick():
    pick = decide(context(), [trial(1, 1.0), trial(2, 1.0)])
    run = Run.of(pick, {pick.config.id: 1.0})
    assert (run.winner, run.tied) == (pick.config.id, frozenset(pick.tied))
