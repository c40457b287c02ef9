"""Studies and their runs: who is working on what, and what the dead have left behind."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

import autotune_lab
from autotune_lab import codec
from autotune_lab.records import TrialState
from autotune_lab.store.liveness import Owner, is_alive, moment, this_process
from autotune_lab.store.parts import insert_absent
from autotune_lab.store.schema import RunRow, StudyRow, TrialRow

RUNNING = "running"
LEFT = "interrupted"


@dataclass(frozen=True, slots=True)
class StudySummary:
    """One study as a listing shows it.

    Attributes:
        plan: of its latest run.
        state: of its latest run; ``"interrupted"`` also when its process is gone.
        trials: number of trials by state.
        last_active_at: the latest sign of life of any of its runs.
    """

    name: str
    plan: Mapping[str, Any]
    state: str
    runs: int
    trials: Mapping[TrialState, int]
    created_at: str
    last_active_at: str


def begin(connection: Connection, study: str, plan: Mapping[str, Any], now: datetime) -> int:
    """Insert a run of a study that this process owns."""
    insert_absent(connection, StudyRow, {"name": study, "created_at": moment(now)}, key=("name",))
    study_id = connection.execute(select(StudyRow.id).where(StudyRow.name == study)).scalar_one()
    owner = this_process()
    values = {
        "study_id": study_id,
        "plan": codec.to_json(plan),
        "lab_version": autotune_lab.__version__,
        "host": owner.host,
        "pid": owner.pid,
        "process_start": owner.process_start,
        "state": RUNNING,
        "started_at": moment(now),
        "heartbeat_at": moment(now),
        "uid": uuid.uuid4().hex,
    }
    return connection.execute(insert(RunRow).values(values).returning(RunRow.id)).scalar_one()


def end(connection: Connection, run_id: int, state: str, now: datetime) -> None:
    """Close a run; what it left running is interrupted, for it will never end."""
    connection.execute(
        update(RunRow)
        .where(RunRow.id == run_id)
        .values(state=state, ended_at=moment(now), heartbeat_at=moment(now))
    )
    interrupt(connection, [run_id], now)


def beat(connection: Connection, run_id: int, now: datetime) -> None:
    """Note that a run is alive."""
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(heartbeat_at=moment(now)))


def sweep(connection: Connection, now: datetime) -> int:
    """Interrupt the running trials of dead runs and return how many there were."""
    columns = RunRow.id, RunRow.host, RunRow.pid, RunRow.process_start, RunRow.heartbeat_at
    dead = [
        run.id
        for run in connection.execute(select(*columns).where(RunRow.state == RUNNING))
        if not is_alive(Owner(run.host, run.pid, run.process_start), run.heartbeat_at, now)
    ]
    if not dead:
        return 0
    connection.execute(
        update(RunRow).where(RunRow.id.in_(dead)).values(state=LEFT, ended_at=moment(now))
    )
    return interrupt(connection, dead, now)


def summaries(connection: Connection, now: datetime) -> list[StudySummary]:
    """Return all studies, the one that was active last first."""
    counts: dict[int, dict[TrialState, int]] = {}
    counted = select(RunRow.study_id, TrialRow.state, func.count()).join(
        TrialRow, TrialRow.run_id == RunRow.id
    )
    for study_id, state, count in connection.execute(
        counted.group_by(RunRow.study_id, TrialRow.state)
    ):
        counts.setdefault(study_id, {})[TrialState(state)] = count
    runs: dict[int, list[Any]] = {}
    for run in connection.execute(select(RunRow.__table__).order_by(RunRow.id)):
        runs.setdefault(run.study_id, []).append(run)
    found = [
        _summary(study, runs.get(study.id, []), counts.get(study.id, {}), now)
        for study in connection.execute(select(StudyRow.__table__).order_by(StudyRow.id))
    ]
    return sorted(found, key=lambda study: study.last_active_at, reverse=True)


def _summary(
    study: Any, runs: list[Any], counts: Mapping[TrialState, int], now: datetime
) -> StudySummary:
    last = runs[-1] if runs else None
    state = last.state if last else ""
    if last and state == RUNNING:
        owner = Owner(last.host, last.pid, last.process_start)
        state = RUNNING if is_alive(owner, last.heartbeat_at, now) else LEFT
    return StudySummary(
        name=study.name,
        plan=json.loads(last.plan) if last else {},
        state=state,
        runs=len(runs),
        trials=counts,
        created_at=study.created_at,
        last_active_at=max((run.heartbeat_at for run in runs), default=study.created_at),
    )


def interrupt(connection: Connection, run_ids: list[int], now: datetime) -> int:
    """Interrupt the running trials of runs, so that their configs can be claimed again."""
    swept = connection.execute(
        update(TrialRow)
        .where(TrialRow.run_id.in_(run_ids), TrialRow.state == TrialState.RUNNING.value)
        .values(
            state=TrialState.INTERRUPTED.value,
            reason="its run ended before it did",
            finished_at=moment(now),
        )
    )
    return swept.rowcount
