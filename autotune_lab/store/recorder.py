"""Stores to recordings and back."""

from dataclasses import replace

from autotune_lab.recording import RecordedContext, Recording
from autotune_lab.records import Device, Hello, Pick, TrialState, Work
from autotune_lab.store import decoding, picks, trials
from autotune_lab.store.query import Query
from autotune_lab.store.selecting import select_contexts
from autotune_lab.store.store import Store

_UNFINISHED = (TrialState.RUNNING, TrialState.INTERRUPTED)
_FINISHED = tuple(state for state in TrialState if state not in _UNFINISHED)


def dump(store: Store, query: Query) -> list[RecordedContext]:
    """Return the matching contexts with their finished trials and all their picks, oldest first."""
    with store.reading() as connection:
        found = connection.execute(select_contexts(query)).mappings().all()
        chosen = picks.load(connection, query, latest=False)
        return [
            RecordedContext(
                context=decoding.context_of(row),
                space=decoding.space_of(row),
                work=Work(row["work_bytes"], row["work_flops"]),
                launch_floor_ms=row["launch_floor_ms"],
                copy_gbs=row["copy_gbs"],
                matmul_tflops=decoding.matmul_tflops_of(row),
                trials=tuple(
                    replace(trial, id=None)
                    for trial in trials.load(connection, row["context_id"], _FINISHED)
                ),
                picks=tuple(pick for pick in chosen if pick.context.id == row["context_id"]),
            )
            for row in found
        ]


def load(store: Store, recording: Recording) -> int:
    """Store what a recording holds and return how many trials were new."""
    added = 0
    known = {_pick_key(pick) for pick in store.picks(latest=False)}
    for entry in recording.contexts:
        store.add_context(entry.context, space=entry.space, work=entry.work, hello=_hello(entry))
        ids = store.record_all(entry.context.id, entry.trials)
        added += sum(trial_id is not None for trial_id in ids)
        for pick in entry.picks:
            if _pick_key(pick) not in known:
                store.add_pick(pick)
    return added


def _pick_key(pick: Pick) -> tuple[str, str, str]:
    return pick.context.id, pick.config.id, pick.picked_at


def _hello(entry: RecordedContext) -> Hello:
    """Return what the worker said that was recorded; its device's UUID is in the trials, if any."""
    context = entry.context
    uuid = next((trial.device_uuid for trial in entry.trials if trial.device_uuid), "")
    return Hello(
        device=Device(context.model, uuid, context.source),
        environment=context.environment,
        launch_floor_ms=entry.launch_floor_ms,
        copy_gbs=entry.copy_gbs,
        matmul_tflops=entry.matmul_tflops,
    )
