"""A store goes into a recording and comes back as the same store."""

from dataclasses import replace

from autotune_lab import recording
from autotune_lab.records import Phase, TrialState
from autotune_lab.store import recorder
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from tests.store.making import (
    A4000,
    SPACE,
    WORK,
    config,
    context,
    failed,
    measure,
    measurement,
    ok,
    opened,
    pick,
)


def fill(store):
    run_id, context_id = opened(store)
    first = measure(store, run_id, context_id, 0, ok(2.0))
    measure(store, run_id, context_id, 1, failed(TrialState.WRONG_RESULT))
    store.claim(run_id, context_id, config(2), 2)
    store.add_measurement(first, measurement(2.1, phase=Phase.PLAYOFF, round=1))
    store.add_pick(pick())
    opened(store, context(model=A4000))


def test_a_recording_of_a_store_makes_the_same_store(store, tmp_path):
    fill(store)
    path = tmp_path / "recording.jsonl.gz"
    recording.write(path, recorder.dump(store, Query()))
    with Store.open(str(tmp_path / "copy.db")) as copy:
        assert recorder.load(copy, recording.read(path)) == 2
        assert copy.contexts() == store.contexts()
        assert copy.picks() == store.picks()
        finished = [TrialState.OK, TrialState.WRONG_RESULT]
        expected = [replace(t, id=None) for t in store.trials(context().id, states=finished)]
        assert [replace(t, id=None) for t in copy.trials(context().id)] == expected
        assert recorder.load(copy, recording.read(path)) == 0
        assert len(copy.picks(latest=False)) == 1
        again = tmp_path / "again.jsonl.gz"
        recording.write(again, recorder.dump(copy, Query()))
    assert recording.read(again) == recording.read(path)


def test_a_recording_carries_what_the_store_knows_of_a_context(store):
    fill(store)
    (entry,) = recorder.dump(store, Query(device_model="nvidia-h200"))
    assert (entry.context, entry.space, entry.work) == (context(), SPACE, WORK)
    assert (entry.launch_floor_ms, entry.copy_gbs) == (0.0021, 4012.5)
    assert entry.matmul_tflops == {"bfloat16": 751.0}
    assert [trial.state for trial in entry.trials] == [TrialState.OK, TrialState.WRONG_RESULT]
    assert [trial.id for trial in entry.trials] == [None, None]
    assert entry.picks == (pick(),)
