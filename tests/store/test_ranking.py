"""The fastest trials without reading the others: the same as sorting all of them."""

from dataclasses import replace

import pytest

from autotune_lab.definitions import Problem
from autotune_lab.records import Source, TrialState
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from tests.store.making import context, failed, measure, ok, opened


@pytest.fixture
def filled(store):
    """Three contexts, one of them simulated; times that interleave, a tie, failures between."""
    for number, made in enumerate(
        (
            context(),
            replace(context(), problem=Problem(M=16)),
            context(source=Source.INTERPRETER),
        )
    ):
        run_id, context_id = opened(store, made)
        for position in range(6):
            outcome = ok(2.0 + position + number / 2 if position != 3 else 4.5)
            if position in (1, 4):
                outcome = failed(TrialState.CRASHED if position == 1 else TrialState.TIMEOUT)
            measure(store, run_id, context_id, position, outcome)
    return store


@pytest.mark.parametrize("limit", [1, 3, 8, 9, 12, 100])
@pytest.mark.parametrize("state", [None, "ok", "crashed", "no such state"])
@pytest.mark.parametrize(
    "query",
    [Query(), Query(include_simulated=True), Query(study="a study"), Query(problem="M=16")],
    ids=str,
)
def test_it_is_what_sorting_all_gives(filled, query, state, limit):
    everything = frames.trials(filled, query)
    if state is not None:
        everything = everything[everything["state"] == state]
    expected = everything.sort_values(["time_ms", "trial_id"], na_position="last").head(limit)
    found = frames.fastest(filled, query, limit, state=state)
    assert found["trial_id"].tolist() == expected["trial_id"].tolist()
    assert found["config"].tolist() == expected["config"].tolist()
    assert found.dtypes.equals(expected.dtypes)


def test_an_unknown_study_has_none(filled):
    assert frames.fastest(filled, Query(study="another"), 5).empty
