"""Copies of what another store measured, row by row, with its provenance.

Contexts are identities, so nothing of one device, code or environment lands in another. Copying is
idempotent: a merge that was cut short is finished by the next one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select, update

from autotune_lab.records import TrialState
from autotune_lab.store.parts import insert_absent
from autotune_lab.store.schema import Base, ContextRow, RunRow, StudyRow

_TABLES = Base.metadata.tables
_TRIALS, _MEASUREMENTS, _PICKS = (_TABLES[n] for n in ("trials", "measurements", "picks"))
_PARTS = {
    "kernels": ("id",),
    "problems": ("id",),
    "device_models": ("id",),
    "environments": ("id",),
    "protocols": ("id",),
    "devices": ("uuid", "model_id"),
    "ceilings": ("device_uuid", "model_id", "environment_id", "measured_at"),
}
_UNFINISHED = (TrialState.RUNNING.value, TrialState.INTERRUPTED.value)
# One trial is measured at one moment on one device; a copy of it says the same of itself.
_SAME_TRIAL = ("started_at", "finished_at", "device_uuid")
_SAME_MEASUREMENT = ("phase", "round", "taken_at", "raw")
_RUN_COLUMNS = [column.name for column in _TABLES["runs"].c if column.name != "id"]
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge has added.

    Attributes:
        duplicates: trials left out because this store measured the same config in the same context
            by itself; its own result stays.
        disagreements: those of them that ended otherwise there, one line each.
    """

    runs: int = 0
    contexts: int = 0
    trials: int = 0
    measurements: int = 0
    picks: int = 0
    duplicates: int = 0
    disagreements: tuple[str, ...] = ()

    def __add__(self, other: "Merged") -> "Merged":
        return Merged(*(getattr(self, name) + getattr(other, name) for name in Merged.__slots__))


def copy_parts(source: Connection, target: Connection) -> None:
    """Copy kernels, problems, device models, devices, environments, protocols and ceilings."""
    for name, key in _PARTS.items():
        table = _TABLES[name]
        columns = [table.c[column] for column in key]
        known = {tuple(row) for row in target.execute(select(*columns))}
        fresh = [
            dict(row)
            for row in source.execute(select(table)).mappings()
            if tuple(row[column] for column in key) not in known
        ]
        if fresh:
            target.execute(insert(table), fresh)


def copy_runs(source: Connection, target: Connection, origin: str) -> tuple[dict[int, int], Merged]:
    """Copy studies and runs; return the id here of each run there.

    A run that is known is brought up to date: it may have gone on since the last merge.
    """
    ids: dict[int, int] = {}
    added = 0
    known = {uid: run_id for run_id, uid in target.execute(select(RunRow.id, RunRow.uid))}
    theirs = select(_TABLES["runs"], StudyRow.name, StudyRow.created_at).join(StudyRow)
    for row in source.execute(theirs.order_by(RunRow.id)).mappings():
        values = {name: row[name] for name in _RUN_COLUMNS}
        values["origin"] = row["origin"] or origin
        study = {"name": row["name"], "created_at": row["created_at"]}
        insert_absent(target, StudyRow, study, key=("name",))
        values["study_id"] = target.execute(
            select(StudyRow.id).where(StudyRow.name == row["name"])
        ).scalar_one()
        if row["uid"] in known:
            ids[row["id"]] = known[row["uid"]]
            moved = {name: row[name] for name in ("state", "heartbeat_at", "ended_at")}
            target.execute(update(RunRow).where(RunRow.uid == row["uid"]).values(moved))
            continue
        added += 1
        ids[row["id"]] = target.execute(
            insert(RunRow).values(values).returning(RunRow.id)
        ).scalar_one()
    return ids, Merged(runs=added)


def context_ids(source: Connection) -> Sequence[str]:
    """Return the contexts of a store, oldest first."""
    ordered = select(ContextRow.id).order_by(ContextRow.created_at, ContextRow.id)
    return source.execute(ordered).scalars().all()


def copy_context(
    source: Connection, target: Connection, context_id: str, runs: Mapping[int, int]
) -> Merged:
    """Copy one context with its finished trials, their measurements, and its picks."""
    table = _TABLES["contexts"]
    row = source.execute(select(table).where(table.c.id == context_id)).mappings().one()
    merged = Merged(contexts=int(insert_absent(target, ContextRow, dict(row))))
    columns = ("id", "config_id", "state", *_SAME_TRIAL)
    live = select(*(_TRIALS.c[name] for name in columns)).where(
        _TRIALS.c.context_id == context_id, _TRIALS.c.state != TrialState.INTERRUPTED.value
    )
    ours: dict[str, RowMapping] = {row["config_id"]: row for row in _rows(target, live)}
    theirs = select(_TRIALS).where(
        _TRIALS.c.context_id == context_id, _TRIALS.c.state.not_in(_UNFINISHED)
    )
    result = source.execution_options(yield_per=_BATCH).execute(theirs.order_by(_TRIALS.c.id))
    for batch in result.mappings().partitions():
        merged += _copy_trials(source, target, batch, ours, runs)
    return merged + Merged(picks=_copy_picks(source, target, context_id))


def _copy_trials(
    source: Connection,
    target: Connection,
    theirs: Sequence[RowMapping],
    ours: Mapping[str, RowMapping],
    runs: Mapping[int, int],
) -> Merged:
    ids: dict[int, int] = {}
    fresh: list[RowMapping] = []
    duplicates = 0
    disagreements: list[str] = []
    for row in theirs:
        mine = ours.get(row["config_id"])
        if mine is None:
            fresh.append(row)
        elif all(mine[name] == row[name] for name in _SAME_TRIAL):
            ids[row["id"]] = mine["id"]
        else:
            duplicates += 1
            if mine["state"] != row["state"]:
                disagreements.append(
                    f"context {row['context_id']} config {row['config']}: "
                    f"{mine['state']} here, {row['state']} there"
                )
    if fresh:
        inserted = target.execute(
            insert(_TRIALS).returning(_TRIALS.c.id, sort_by_parameter_order=True),
            [_moved(row, run_id=runs.get(row["run_id"])) for row in fresh],
        ).scalars()
        ids |= zip((row["id"] for row in fresh), inserted, strict=True)
    return Merged(
        trials=len(fresh),
        measurements=_copy_measurements(source, target, ids),
        duplicates=duplicates,
        disagreements=tuple(disagreements),
    )


def _copy_measurements(source: Connection, target: Connection, ids: Mapping[int, int]) -> int:
    """Copy what was measured of trials, given the id here of each trial there."""
    key = [_MEASUREMENTS.c[name] for name in ("trial_id", *_SAME_MEASUREMENT)]
    ours = select(*key).where(_MEASUREMENTS.c.trial_id.in_(ids.values()))
    known = {tuple(row) for row in target.execute(ours)}
    theirs = select(_MEASUREMENTS).where(_MEASUREMENTS.c.trial_id.in_(ids.keys()))
    fresh = [
        _moved(row, trial_id=ids[row["trial_id"]])
        for row in _rows(source, theirs.order_by(_MEASUREMENTS.c.id))
        if (ids[row["trial_id"]], *(row[name] for name in _SAME_MEASUREMENT)) not in known
    ]
    if fresh:
        target.execute(insert(_MEASUREMENTS), fresh)
    return len(fresh)


def _copy_picks(source: Connection, target: Connection, context_id: str) -> int:
    chosen = select(_PICKS).where(_PICKS.c.context_id == context_id).order_by(_PICKS.c.id)
    known = {(row["picked_at"], row["evidence"]) for row in _rows(target, chosen)}
    fresh = [
        _moved(row)
        for row in _rows(source, chosen)
        if (row["picked_at"], row["evidence"]) not in known
    ]
    if fresh:
        target.execute(insert(_PICKS), fresh)
    return len(fresh)


def _rows(connection: Connection, statement: Any) -> Sequence[RowMapping]:
    return connection.execute(statement).mappings().all()


def _moved(row: RowMapping, **changes: Any) -> dict[str, Any]:
    """Return a row without its id there, so that it gets one here."""
    return {name: value for name, value in row.items() if name != "id"} | changes
