"""Stores of several machines become one, and every row still says where it is from."""

from dataclasses import replace

import pytest

from autotune_lab.records import Environment, Phase, Source, TrialState
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from tests.store.making import (
    A4000,
    TODAY,
    config,
    context,
    failed,
    measure,
    measurement,
    ok,
    opened,
    pick,
    query,
    trial,
)


@pytest.fixture
def other_path(tmp_path):
    return tmp_path / "other.db"


@pytest.fixture
def other(other_path):
    with Store.open(str(other_path)) as made:
        run_id, context_id = opened(made, context(model=A4000))
        first = measure(made, run_id, context_id, 0, ok(4.0))
        measure(made, run_id, context_id, 1, failed(TrialState.CRASHED))
        made.claim(run_id, context_id, config(2), 2)
        made.add_measurement(first, measurement(4.1, phase=Phase.PLAYOFF, round=1))
        made.add_pick(pick(of=context(model=A4000), median_ms=4.1))
        yield made


def test_all_that_is_finished_arrives_as_it_was(store, other):
    run_id, here = opened(store)
    measure(store, run_id, here, 0, ok(1.0))
    merged = store.merge_from(other)
    assert (merged.runs, merged.contexts, merged.trials) == (1, 1, 2)
    assert (merged.measurements, merged.picks, merged.duplicates) == (2, 1, 0)
    there = context(model=A4000)
    arrived = [replace(entry, id=None) for entry in store.trials(there.id)]
    finished = [state for state in TrialState if state is not TrialState.RUNNING]
    assert arrived == [replace(e, id=None) for e in other.trials(there.id, states=finished)]
    assert store.picks() == other.picks()
    assert [entry.screen_ms for entry in store.trials(here)] == [1.0]
    assert store.contexts() == [there, context()]


def test_merging_again_adds_nothing(store, other, path):
    store.merge_from(other)
    before = {name: query(path, f"SELECT * FROM {name}") for name in ("trials", "picks", "runs")}
    again = store.merge_from(other)
    assert not any((again.runs, again.contexts, again.trials, again.measurements, again.picks))
    assert before == {name: query(path, f"SELECT * FROM {name}") for name in before}


def test_merging_a_store_into_itself_adds_nothing(store, path):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0)
    with Store.open(str(path)) as itself:
        merged = store.merge_from(itself)
    assert (merged.runs, merged.trials, merged.duplicates) == (0, 0, 0)


def test_a_later_merge_brings_what_came_later(store, other):
    store.merge_from(other)
    run_id, context_id = opened(other, context(model=A4000))
    (first, *_) = other.trials(context_id)
    other.add_measurement(first.id, measurement(4.2, phase=Phase.PLAYOFF, round=2))
    measure(other, run_id, context_id, 7, ok(7.0))
    merged = store.merge_from(other)
    assert (merged.runs, merged.contexts, merged.trials, merged.measurements) == (1, 0, 1, 2)
    assert [m.round for m in store.trials(context_id)[0].measurements] == [0, 1, 2]


def test_runs_keep_their_identity_and_say_where_they_came_from(
    store, other, path, other_path, tmp_path
):
    store.merge_from(other)
    columns = "host, pid, process_start, uid, started_at, plan"
    assert query(path, f"SELECT {columns} FROM runs") == query(
        other_path, f"SELECT {columns} FROM runs"
    )
    assert query(path, "SELECT origin FROM runs") == [(str(other_path),)]
    with Store.open(str(tmp_path / "third.db")) as third:
        third.merge_from(store)
        assert query(tmp_path / "third.db", "SELECT origin FROM runs") == [(str(other_path),)]


def test_what_both_have_measured_stays_as_it_is_here_and_disagreements_are_named(store, other):
    there = context(model=A4000)
    run_id, context_id = opened(store, there)
    measure(store, run_id, context_id, 0, ok(5.0))
    measure(store, run_id, context_id, 1, ok(6.0))
    merged = store.merge_from(other)
    assert (merged.trials, merged.duplicates) == (0, 2)
    (line,) = merged.disagreements
    assert "BLOCK_M" in line
    assert line.endswith("ok here, crashed there")
    assert [entry.screen_ms for entry in store.trials(context_id)] == [5.0, 6.0]


@pytest.mark.parametrize(
    "difference",
    [
        {"source": Source.INTERPRETER},
        {"source": Source.FAKE},
        {"environment": Environment(triton="3.9.0")},
        {"model": replace(A4000, partition="64sm")},
    ],
)
def test_contexts_are_never_mixed(store, other, difference):
    of = replace(context(model=A4000), **difference)
    _, context_id = opened(store, of)
    store.record(context_id, trial(0, 9.0, of=of))
    store.merge_from(other)
    assert [entry.screen_ms for entry in store.trials(context_id)] == [9.0]
    found = store.contexts(Query(kernel="matmul"))
    assert all(not entry.source.is_simulated for entry in found)


def test_provenance_survives_a_save_between_loads(store, other):
    """Rows of another device are no answer here, before and after a row of this one is saved."""
    store.merge_from(other)
    mine = context(environment=TODAY)
    for _ in range(2):
        run_id, context_id = opened(store, mine)
        hits = [entry for entry in store.trials(context_id) if entry.config == config(0)]
        if not hits:
            measure(store, run_id, context_id, 0, ok(1.0))
    there = store.trials(context(model=A4000).id)
    assert [entry.screen_ms for entry in store.trials(mine.id)] == [1.0]
    assert [entry.screen_ms for entry in there] == [4.0, None]
