"""Trials in the store: claimed before they run, finished once, never changed after that."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update

from autotune_lab.errors import StoreError, UsageError
from autotune_lab.records import Measurement, Outcome, Trial, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.store import decoding, encoding, plausible
from autotune_lab.store.liveness import moment
from autotune_lab.store.schema import MeasurementRow, TrialRow

_INTERRUPTED = TrialState.INTERRUPTED.value
_LIVE = TrialRow.state != _INTERRUPTED
_BATCH = 500

# Built once: a statement costs SQLAlchemy more to build than SQLite to run, and these two run for
# every trial. `of_...` are their own parameters, all others are columns.
_TRIALS = TrialRow.metadata.tables["trials"]
_MEASUREMENTS = MeasurementRow.metadata.tables["measurements"]
_ATTEMPT = select(func.count() + 1).where(
    TrialRow.context_id == bindparam("of_context"), TrialRow.config_id == bindparam("of_config")
)
_CLAIM = insert(_TRIALS).values(attempt=_ATTEMPT.scalar_subquery()).returning(_TRIALS.c.id)
_FINISH = update(_TRIALS).where(
    _TRIALS.c.id == bindparam("of_trial"),
    or_(_TRIALS.c.state == TrialState.RUNNING.value, _TRIALS.c.state == _INTERRUPTED),
)


def claim(
    connection: Connection, run_id: int, context_id: str, config: Config, number: int, now: datetime
) -> int:
    """Insert a running trial and return its id.

    Raises:
        IntegrityError: another live trial has this config in this context, or the run or the
            context is not there.
    """
    values = {
        "of_context": context_id,
        "of_config": config.id,
        "run_id": int(run_id),
        "context_id": context_id,
        "config_id": config.id,
        "config": config.to_json(),
        "number": int(number),
        "state": TrialState.RUNNING.value,
        "started_at": moment(now),
    }
    return int(connection.execute(_CLAIM, values).scalar_one())


def is_taken(connection: Connection, context_id: str, config: Config) -> bool:
    """A live trial has this config in this context."""
    same = (TrialRow.context_id == context_id, TrialRow.config_id == config.id)
    return connection.execute(select(TrialRow.id).where(*same, _LIVE)).first() is not None


def finish(
    connection: Connection, trial_id: int, outcome: Outcome, device_uuid: str, now: datetime
) -> None:
    """Turn a claimed trial into a finished one, with its measurement.

    A trial that was swept meanwhile, because its run was long silent, is taken back.

    Raises:
        StoreError: there is no such trial, or it is finished.
        IntegrityError: it was swept, and another run has claimed its config since.
    """
    outcome = plausible.judged(outcome)
    if outcome.state is TrialState.RUNNING:
        raise UsageError(f"trial {trial_id}: 'running' is not an outcome")
    values = {
        "of_trial": int(trial_id),
        **encoding.outcome_values(outcome),
        "finished_at": moment(now),
        "device_uuid": device_uuid,
    }
    if not connection.execute(_FINISH, values).rowcount:
        state = connection.execute(select(TrialRow.state).where(TrialRow.id == trial_id)).scalar()
        raise StoreError(
            f"trial {trial_id}: is finished as {state} and never changes"
            if state
            else f"trial {trial_id}: is not in the store"
        )
    if outcome.measurement is not None:
        _put_measurements(connection, [(trial_id, outcome.measurement)])


def demote(connection: Connection, trial_id: int, outcome: Outcome) -> None:
    """Turn a correct trial into the failure that a later run of the same config was.

    Raises:
        UsageError: the trial is not ``ok``, or the outcome is no failure.
    """
    if not outcome.state.is_failure:
        raise UsageError(f"trial {trial_id}: {outcome.state} is not a failure")
    changed = (
        update(_TRIALS)
        .where(_TRIALS.c.id == trial_id, _TRIALS.c.state == TrialState.OK.value)
        .values(
            state=outcome.state.value,
            reason=outcome.reason,
            detail=outcome.detail,
            time_ms=None,
            low_ms=None,
            high_ms=None,
        )
    )
    if not connection.execute(changed).rowcount:
        raise UsageError(f"trial {trial_id}: is not an ok trial of this store")


def add_measurement(connection: Connection, trial_id: int, measurement: Measurement) -> None:
    """Add a measurement to a trial that ran correctly.

    Raises:
        UsageError: one of its times is no time, or the trial did not run correctly.
    """
    if (bad := plausible.fault(measurement)) is not None:
        raise UsageError(f"measurement of trial {trial_id}: {bad} is not a time in ms")
    state = connection.execute(select(TrialRow.state).where(TrialRow.id == trial_id)).scalar()
    if state not in (TrialState.OK, TrialState.PRUNED):
        raise UsageError(
            f"measurement of trial {trial_id}: the trial is {state or 'not in the store'}, not ok"
        )
    _put_measurements(connection, [(trial_id, measurement)])


def record(
    connection: Connection, context_id: str, trials: Sequence[Trial], run_id: int | None
) -> list[int | None]:
    """Insert finished trials as they are; None for each whose config has a live trial already.

    Raises:
        UsageError: a trial is of another context, or is still running.
    """
    for trial in trials:
        if trial.context_id != context_id or trial.state is TrialState.RUNNING:
            raise UsageError(
                f"trial {trial.number} ({trial.state}) of context {trial.context_id} "
                f"can't be recorded in context {context_id}"
            )
    ids: list[int | None] = []
    for start in range(0, len(trials), _BATCH):
        ids += _record_batch(connection, context_id, trials[start : start + _BATCH], run_id)
    return ids


def _record_batch(
    connection: Connection, context_id: str, trials: Sequence[Trial], run_id: int | None
) -> list[int | None]:
    configs = [trial.config.id for trial in trials]
    live = (TrialRow.context_id == context_id, TrialRow.config_id.in_(configs), _LIVE)
    taken = set(connection.execute(select(TrialRow.config_id).where(*live)).scalars())
    fresh: list[int] = []
    for position, trial in enumerate(trials):
        if trial.state is TrialState.INTERRUPTED:
            fresh.append(position)
        elif trial.config.id not in taken:
            taken.add(trial.config.id)
            fresh.append(position)
    ids: list[int | None] = [None] * len(trials)
    if not fresh:
        return ids
    judged = [plausible.judged_trial(trials[position]) for position in fresh]
    inserted = connection.execute(
        insert(_TRIALS).returning(_TRIALS.c.id, sort_by_parameter_order=True),
        [{**encoding.trial_values(trial), "run_id": run_id} for trial in judged],
    ).scalars()
    measured: list[tuple[int, Measurement]] = []
    for position, trial, trial_id in zip(fresh, judged, inserted, strict=True):
        ids[position] = trial_id
        measured += [(trial_id, measurement) for measurement in trial.measurements]
    _put_measurements(connection, measured)
    return ids


def load(
    connection: Connection, context_id: str, states: Collection[TrialState] | None
) -> Iterator[Trial]:
    """Read a context's trials in the order they were claimed, with their measurements."""
    chosen = [TrialRow.context_id == context_id]
    if states is not None:
        chosen.append(TrialRow.state.in_([state.value for state in states]))
    measurements: dict[int, list[Measurement]] = {}
    taken = (
        select(_MEASUREMENTS)
        .join(TrialRow, TrialRow.id == MeasurementRow.trial_id)
        .where(*chosen)
        .order_by(MeasurementRow.id)
    )
    for row in connection.execute(taken).mappings():
        measurements.setdefault(row["trial_id"], []).append(decoding.measurement_of(row))
    found = select(_TRIALS).where(*chosen).order_by(TrialRow.id)
    for row in connection.execute(found).mappings():
        yield decoding.trial_of(row, measurements.get(row["id"], ()))


def _put_measurements(connection: Connection, measured: Sequence[tuple[int, Measurement]]) -> None:
    if measured:
        values: list[dict[str, Any]] = [encoding.measurement_values(i, m) for i, m in measured]
        connection.execute(insert(_MEASUREMENTS), values)
