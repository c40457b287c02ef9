"""What is being measured right now: each context that a living run has touched, with its counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, func, select

from autotune_lab.records import TrialState
from autotune_lab.store.liveness import Owner, is_alive
from autotune_lab.store.query import Query
from autotune_lab.store.runs import RUNNING
from autotune_lab.store.schema import RunRow, StudyRow, TrialRow
from autotune_lab.store.selecting import select_contexts


@dataclass(frozen=True, slots=True)
class Progress:
    """One context of a run that is at work.

    Attributes:
        host, pid: of the process that runs the study.
        trials: this run's trials here, by state.
        best_ms: the fastest eligible screening of this run here; None while there is none.
        last_at: when the last of them was finished; ``""`` while none is.
    """

    study: str
    run_id: int
    host: str
    pid: int
    kernel: str
    problem: str
    device_model: str
    source: str
    trials: dict[TrialState, int]
    best_ms: float | None
    started_at: str
    last_at: str

    @property
    def running(self) -> int:
        """How many configs are between claim and outcome."""
        return self.trials.get(TrialState.RUNNING, 0)

    @property
    def finished(self) -> int:
        """How many have an outcome."""
        return sum(self.trials.values()) - self.running


def progress(connection: Connection, now: datetime) -> list[Progress]:
    """Return what the living runs work on, run by run, their contexts in the order of first use."""
    columns = (RunRow.id, RunRow.host, RunRow.pid, RunRow.process_start, RunRow.heartbeat_at)
    chosen = select(*columns, RunRow.started_at, StudyRow.name).join(
        StudyRow, StudyRow.id == RunRow.study_id
    )
    alive = [
        run
        for run in connection.execute(chosen.where(RunRow.state == RUNNING).order_by(RunRow.id))
        if is_alive(Owner(run.host, run.pid, run.process_start), run.heartbeat_at, now)
    ]
    return list(_of_runs(connection, alive))


def _of_runs(connection: Connection, runs: list[Any]) -> Iterator[Progress]:
    counted: dict[tuple[int, str], list[Any]] = {}
    for row in connection.execute(_counts([run.id for run in runs])):
        counted.setdefault((row.run_id, row.context_id), []).append(row)
    ids = sorted({context_id for _, context_id in counted})
    query = Query(context_ids=ids, include_simulated=True)
    contexts = {
        row["context_id"]: row for row in connection.execute(select_contexts(query)).mappings()
    }
    for run in runs:
        for (run_id, context_id), rows in counted.items():
            if run_id == run.id:
                yield _one(run, contexts[context_id], rows)


def _counts(run_ids: list[int]) -> Any:
    eligible_ms = case((TrialRow.is_eligible, TrialRow.time_ms))
    return (
        select(
            TrialRow.run_id,
            TrialRow.context_id,
            TrialRow.state,
            func.count().label("count"),
            func.min(eligible_ms).label("best_ms"),
            func.max(TrialRow.finished_at).label("last_at"),
        )
        .where(TrialRow.run_id.in_(run_ids))
        .group_by(TrialRow.run_id, TrialRow.context_id, TrialRow.state)
        .order_by(func.min(TrialRow.id))
    )


def _one(run: Any, context: Any, rows: list[Any]) -> Progress:
    times_ms = [row.best_ms for row in rows if row.best_ms is not None]
    return Progress(
        study=run.name,
        run_id=run.id,
        host=run.host.partition("/")[0],
        pid=run.pid,
        kernel=context["kernel"],
        problem=context["problem"],
        device_model=context["device_model"],
        source=context["source"],
        trials={TrialState(row.state): row.count for row in rows},
        best_ms=min(times_ms, default=None),
        started_at=run.started_at,
        last_at=max(row.last_at for row in rows),
    )
