import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from autotune_lab.analysis.selection import candidates, decide, first_look
from autotune_lab.errors import NoSurvivor
from autotune_lab.records import Protocol, TrialState
from autotune_lab.spaces.config import Config
from tests.analysis.making import context, rounds, screen, trial

DEFAULT = Config(BLOCK=64)


def blocks(configs):
    return [config["BLOCK"] for config in configs]


def test_candidates_are_those_within_the_ratio_of_the_best_screening():
    trials = [trial(1, 1.0), trial(2, 1.49), trial(3, 1.51), trial(4, 1.2)]
    assert blocks(candidates(trials, Protocol(), None)) == [1, 4, 2]


def test_candidates_are_at_most_the_size_and_the_default_takes_the_last_seat():
    trials = [trial(n, 1.0 + n / 1000) for n in range(40)] + [trial(64, 9.0)]
    found = candidates(trials, Protocol(), DEFAULT)
    assert blocks(found) == [*range(15), 64]


def test_a_default_that_does_not_run_or_was_not_tried_has_no_seat():
    failed = trial(64, state=TrialState.OUT_OF_RESOURCES)
    assert blocks(candidates([trial(1, 1.0), failed], Protocol(), DEFAULT)) == [1]
    assert blocks(candidates([trial(1, 1.0)], Protocol(), DEFAULT)) == [1]


def test_nothing_that_ran_means_no_candidates():
    assert candidates([], Protocol(), DEFAULT) == []
    assert candidates([trial(1, state=TrialState.CRASHED)], Protocol(), DEFAULT) == []


def test_disturbed_and_wrong_trials_are_never_candidates():
    trials = [
        trial(1, 0.1, flags=("throttled",)),
        trial(2, 0.2, flags=("contended",)),
        trial(3, 0.3, state=TrialState.WRONG_RESULT),
        trial(4, 0.4, state=TrialState.PRUNED),
        trial(5, 1.0, flags=("noisy",)),
    ]
    assert blocks(candidates(trials, Protocol(), None)) == [5]
    assert decide(context(), trials).config == Config(BLOCK=5)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_what_is_no_time_never_wins_in_any_order(order):
    times = [math.nan, -0.5, 0.0, 1.0]
    trials = [trial(n, times[n]) for n in order]
    assert blocks(candidates(trials, Protocol(), None)) == [3]
    assert decide(context(), trials).median_ms == 1.0


def test_seven_bad_timings_and_one_good_one_give_the_good_one_in_shuffled_orders():
    bad = [math.nan, math.inf, 0.0, -1.0, None, 1e-12, "3.0"]
    made = [trial(n, ms) for n, ms in enumerate(bad)] + [trial(7, 2.0)]
    for seed in range(50):
        shuffled = random.Random(seed).sample(made, len(made))
        assert decide(context(), shuffled).config == Config(BLOCK=7)


def test_bad_times_in_playoff_rounds_do_not_count_either():
    trials = [trial(1, 1.0, played=[math.nan, 0.0, -1.0]), trial(2, 2.0, played=[2.0, 2.0, 2.0])]
    pick = decide(context(), trials)
    assert (pick.config, pick.median_ms, pick.candidates) == (Config(BLOCK=2), 2.0, 1)


def test_the_winner_is_decided_by_fresh_rounds_and_reported_by_them():
    lucky = trial(1, 0.8, played=[1.2, 1.21, 1.19, 1.2, 1.2])
    honest = trial(2, 1.0, played=[1.0, 1.01, 0.99, 1.0, 1.0])
    pick = decide(context(), [lucky, honest], default=Config(BLOCK=1), space_size=2)
    assert pick.config == Config(BLOCK=2)
    assert (pick.median_ms, pick.chosen_ms, pick.default_ms) == (1.0, 1.0, 1.2)
    assert pick.low_ms <= 1.0 <= pick.high_ms
    assert (pick.rounds, pick.candidates, pick.trials, pick.flags) == (5, 2, 2, ())
    assert pick.best_probability == 1.0
    assert pick.tied == (Config(BLOCK=2).id,)


def test_optimism_is_the_fresh_time_over_the_time_when_chosen():
    pick = decide(context(), [trial(1, 1.0, played=[1.13] * 5), trial(2, 1.2, played=[1.3] * 5)])
    assert pick.optimism == pytest.approx(0.13)


def noisy(rng, ms, spread, count=9):
    return list(ms * (1 + spread * rng.standard_normal(count)))


def test_configs_that_noise_hides_are_tied_and_the_default_is_preferred():
    rng = np.random.default_rng(1)
    trials = [trial(n, 1.0, played=noisy(rng, 1 + n * 1e-4, 0.03)) for n in range(6)]
    pick = decide(context(), trials, default=Config(BLOCK=5))
    assert len(pick.tied) >= 4
    assert pick.config == Config(BLOCK=5)
    assert pick.best_probability < 0.95


def test_among_the_tied_without_a_default_the_least_resources_win():
    same = [1.0, 1.01, 0.99, 1.0, 1.02]
    trials = [
        trial(1, 1.0, played=same, shared_bytes=2048, registers=64),
        trial(2, 1.0, played=same, shared_bytes=1024, registers=128),
        trial(3, 1.0, played=same, shared_bytes=1024, registers=96),
        trial(4, 1.0, played=same),
    ]
    assert decide(context(), trials).config == Config(BLOCK=3)


def test_drift_shared_by_a_round_does_not_hide_a_difference():
    drift = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8]
    trials = [
        trial(1, 1.0, played=drift),
        trial(2, 1.0, played=[1.02 * d for d in drift]),
    ]
    pick = decide(context(), trials, default=Config(BLOCK=2))
    assert pick.config == Config(BLOCK=1)
    assert pick.tied == (Config(BLOCK=1).id,)


def test_disturbed_rounds_are_left_out():
    spoilt = trial(1, 1.0)
    clean = rounds([1.0, 1.0, 1.0, 1.0])
    disturbed = rounds([0.1], first=5, flags=("throttled",))
    spoilt = type(spoilt)(
        "c", Config(BLOCK=1), TrialState.OK, measurements=(screen(1.0), *clean, *disturbed)
    )
    pick = decide(context(), [spoilt, trial(2, 1.5, played=[1.5] * 5)])
    assert (pick.median_ms, pick.rounds) == (1.0, 4)


def test_only_the_rounds_asked_for_count():
    old_and_new = [1.0, 1.0, 1.0, 3.0, 3.0, 3.0]
    trials = [trial(1, 1.0, played=old_and_new), trial(2, 1.0, played=[2.0] * 6)]
    assert decide(context(), trials, rounds=frozenset({1, 2, 3})).config == Config(BLOCK=1)
    assert decide(context(), trials, rounds=frozenset({4, 5, 6})).config == Config(BLOCK=2)


def test_one_survivor_has_no_competition_and_was_not_remeasured():
    pick = decide(context(), [trial(1, 1.0), trial(2, state=TrialState.CRASHED)], space_size=9)
    assert pick.flags == ("no_competition", "not_remeasured", "partial")
    assert (pick.rounds, pick.optimism, pick.best_probability) == (0, None, None)


def test_kernels_shorter_than_a_launch_have_no_winner_by_events():
    def trials():
        return [trial(1, 0.004, played=[0.004] * 5), trial(2, 0.003, played=[0.003] * 5)]

    pick = decide(context(), trials(), floor_ms=0.030)
    assert "below_launch_floor" in pick.flags
    assert set(pick.tied) == {Config(BLOCK=1).id, Config(BLOCK=2).id}
    assert pick.best_probability is None
    by_graph = decide(context("graph"), trials(), floor_ms=0.030)
    assert (by_graph.config, by_graph.median_ms) == (Config(BLOCK=2), 0.003)
    assert "below_launch_floor" not in by_graph.flags


def test_a_long_kernel_is_not_tied_with_the_short_ones():
    trials = [trial(n, ms, played=[ms] * 5) for n, ms in ((1, 0.03), (2, 0.04), (3, 0.5))]
    assert Config(BLOCK=3).id not in decide(context(), trials, floor_ms=0.03).tied


def test_no_survivor_says_counts_and_the_smallest_need():
    trials = [
        trial(n, state=TrialState.OUT_OF_RESOURCES, shared_bytes=262_144 + n) for n in range(3)
    ]
    with pytest.raises(NoSurvivor, match=r"3 out_of_resources.*262144 B.*232448 B") as caught:
        decide(context(), trials)
    assert caught.value.counts == {"out_of_resources": 3}


def test_no_survivor_names_the_most_frequent_reason_or_the_disturbance():
    wrong = [trial(n, state=TrialState.WRONG_RESULT, reason="off by 1") for n in range(2)]
    with pytest.raises(NoSurvivor, match="off by 1"):
        decide(context(), wrong)
    with pytest.raises(NoSurvivor, match="throttled or contended"):
        decide(context(), [trial(1, 1.0, flags=("throttled",))])
    with pytest.raises(NoSurvivor, match="nothing was tried"):
        decide(context(), [])


def test_equal_inputs_give_equal_picks():
    rng = np.random.default_rng(3)
    trials = [trial(n, 1.0, played=noisy(rng, 1.0, 0.02)) for n in range(5)]
    assert decide(context(), trials) == decide(context(), list(reversed(trials)))


def test_a_transferred_config_competes_by_its_transfer_time():
    from autotune_lab.records import Measurement, Phase, Trial

    moved = Measurement(Phase.TRANSFER, (), 0.9)
    foreign = Trial("c", Config(BLOCK=9), TrialState.OK, measurements=(moved,))
    assert first_look(foreign) is moved
    assert decide(context(), [foreign, trial(1, 1.0)]).config == Config(BLOCK=9)


def test_without_a_known_floor_the_flags_of_most_measurements_decide():
    def one(block, ms, flagged):
        made = trial(block, ms, flags=("launch_bound",))
        played = [
            *rounds([ms] * flagged, flags=("launch_bound",)),
            *rounds([ms] * (5 - flagged), first=flagged + 1),
        ]
        return replace(made, measurements=(*made.measurements, *played))

    often = decide(context(), [one(1, 0.004, 4), one(2, 0.003, 4)])
    assert "below_launch_floor" in often.flags
    seldom = decide(context(), [one(1, 0.004, 1), one(2, 0.003, 1)])
    assert "below_launch_floor" not in seldom.flags
