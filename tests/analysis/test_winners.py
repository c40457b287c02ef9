from dataclasses import replace

import pytest

from autotune_lab.analysis import winners
from autotune_lab.analysis.selection import decide
from autotune_lab.records import Source, SpaceSnapshot, TrialState, Work
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from tests.analysis.making import H200, context, trial

SPACE = SpaceSnapshot({"BLOCK": (1, 2, 3)}, ("BLOCK",), (), 3)


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'lab.db'}") as opened:
        yield opened


def fill(store, of, trials):
    context_id = store.add_context(of, space=SPACE, work=Work(), hello=None)
    store.record_all(context_id, [replace(t, context_id=context_id) for t in trials])


def test_a_stored_pick_is_the_winner_whatever_one_pass_says(store):
    here = context()
    trials = [trial(1, 1.0, played=[2.0] * 5), trial(2, 1.1, played=[1.1] * 5)]
    fill(store, here, trials)
    pick = decide(here, trials, space_size=3, picked_at="2026-01-01T00:00:00+00:00")
    store.add_pick(pick)
    assert winners.best(store, Query()) == [pick]
    assert pick.config["BLOCK"] == 2


def test_without_a_pick_one_pass_speaks_and_says_so(store):
    fill(store, context(), [trial(1, 2.0), trial(2, 1.5), trial(3, state=TrialState.CRASHED)])
    (pick,) = winners.best(store, Query())
    assert (pick.config["BLOCK"], pick.median_ms, pick.rounds) == (2, 1.5, 0)
    assert pick.flags == ("not_remeasured",)
    assert (pick.trials, pick.space_size) == (3, 3)


def test_a_cut_search_and_a_lone_survivor_are_marked(store):
    fill(store, context(), [trial(1, 2.0), trial(2, 0.1, flags=("contended",))])
    (pick,) = winners.best(store, Query())
    assert pick.config["BLOCK"] == 1
    assert pick.flags == ("no_competition", "not_remeasured", "partial")


def test_a_context_where_nothing_ran_has_no_winner(store):
    fill(store, context(), [trial(1, state=TrialState.CRASHED)])
    assert winners.best(store, Query()) == []
    assert winners.best(store, Query(kernel="other")) == []


def test_simulated_winners_come_only_when_asked_for(store):
    fake = replace(context(), source=Source.FAKE)
    fill(store, fake, [trial(1, 2.0)])
    assert winners.best(store, Query()) == []
    assert len(winners.best(store, Query(include_simulated=True))) == 1


def test_winners_are_sorted_by_kernel_problem_and_device(store):
    for name in ("NVIDIA Z", "NVIDIA A"):
        fill(store, replace(context(), model=replace(H200, name=name)), [trial(1, 2.0)])
    assert [pick.context.model.slug for pick in winners.best(store, Query())] == [
        "nvidia-a",
        "nvidia-z",
    ]
