"""The one door from the store to pandas: a query in, a tidy frame out, units in column names.

Whole numbers stay whole: what may be missing is nullable ``Int64``, and a parameter's values keep
their own types, so that 128 is never printed as 128.0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, select

from autotune_lab.records import Pick
from autotune_lab.spaces.config import Config
from autotune_lab.store import decoding, ranking
from autotune_lab.store import picks as stored_picks
from autotune_lab.store.query import Query
from autotune_lab.store.schema import MeasurementRow, RunRow, StudyRow, TrialRow
from autotune_lab.store.selecting import in_study, select_contexts
from autotune_lab.store.store import Store

CONTEXT_COLUMNS = (
    "kernel", "code_hash", "reference_hash", "problem", "device_model", "device_model_id",
    "device_name", "architecture", "sm_count", "partition", "environment_id", "triton", "driver",
    "protocol_id", "source", "problem_fields",
)  # fmt: skip
TRIAL_COLUMNS = (
    "trial_id", "run_id", "study", "context_id", *CONTEXT_COLUMNS, "device_uuid", "config_id",
    "config", "number", "attempt", "state", "reason", "time_ms", "low_ms", "high_ms", "samples",
    "flags", "is_eligible", "shared_bytes", "registers", "spill_bytes", "threads", "finished_at",
)  # fmt: skip
MEASUREMENT_COLUMNS = (
    "trial_id", "context_id", "config_id", "phase", "round", "median_ms", "low_ms", "high_ms",
    "samples", "flags", "is_eligible", "sm_clock_mhz", "power_w", "temperature_c", "taken_at",
)  # fmt: skip
FACT_COLUMNS = (
    "bytes", "flops", "space", "copy_gbs", "matmul_tflops", "launch_floor_ms", "runs", "model",
    "environment", "protocol",
)  # fmt: skip

Columns = dict[str, list[Any]]

_PART = 20_000
_REPEATED = frozenset(
    {"study", "context_id", "config_id", "state", "reason", "device_uuid", "phase"}
)
_DTYPES = {
    **dict.fromkeys(
        ("trial_id", "number", "attempt", "samples", "sm_count", "round", "runs"), "int64"
    ),
    **dict.fromkeys(
        ("run_id", "shared_bytes", "registers", "spill_bytes", "threads", "sm_clock_mhz",
         "temperature_c"),
        "Int64",
    ),
    **dict.fromkeys(
        ("time_ms", "low_ms", "high_ms", "median_ms", "power_w", "bytes", "flops", "copy_gbs",
         "launch_floor_ms"),
        "float64",
    ),
    "is_eligible": "bool",
    **dict.fromkeys(
        ("config", "flags", "problem_fields", "space", "matmul_tflops", "model", "environment",
         "protocol"),
        "object",
    ),
}  # fmt: skip


def trials(store: Store, query: Query) -> pd.DataFrame:
    """Return one row a trial, in the order they were claimed.

    Columns: ``TRIAL_COLUMNS``. ``time_ms`` (screening median), ``low_ms`` and ``high_ms`` (its 95%
    interval) are NaN unless ``state`` is ``ok``; ``config`` holds ``Config``, ``flags`` tuples and
    ``problem_fields`` a dict that rows share.
    """
    with store.reading() as connection:
        known = _known(connection, query)
        return _read_trials(connection, known, _of(query, list(known)))


def fastest(store: Store, query: Query, limit: int, *, state: str | None = None) -> pd.DataFrame:
    """Return the first rows of ``trials`` by time, then those without one, oldest first.

    Reads no more than it returns, however large the store is.

    Args:
        store: an open store.
        query: which contexts.
        limit: how many rows at most.
        state: only trials that ended so.
    """
    with store.reading() as connection:
        ids = ranking.fastest_ids(connection, query, limit, state=state)
        chosen = [TrialRow.id.in_(ids)]
        contexts = connection.execute(select(TrialRow.context_id).distinct().where(*chosen))
        of_these = Query(context_ids=list(contexts.scalars()), include_simulated=True)
        frame = _read_trials(connection, _known(connection, of_these), chosen)
    return frame.set_index("trial_id", drop=False).loc[ids].reset_index(drop=True)


def _known(connection: Connection, query: Query) -> dict[str, dict[str, Any]]:
    """Return the columns of each matching context, by its id."""
    found = connection.execute(select_contexts(query)).mappings()
    return {row["context_id"]: _context_columns(row) for row in found}


def _read_trials(
    connection: Connection,
    known: Mapping[str, dict[str, Any]],
    conditions: Sequence[ColumnElement[bool]],
) -> pd.DataFrame:
    configs: dict[str, Config] = {}

    def finish(columns: Columns) -> Columns:
        """Decode the cells of one part."""
        pairs = zip(columns["config_id"], columns["config"], strict=True)
        columns["config"] = [
            configs.get(name) or configs.setdefault(name, decoding.config_of(text))
            for name, text in pairs
        ]
        columns["flags"] = [decoding.split(text) for text in columns["flags"]]
        return columns | _spread(known, columns["context_id"])

    chosen = _select_trials().where(*conditions).order_by(TrialRow.id)
    return _stream(connection, chosen, TRIAL_COLUMNS, finish)


def measurements(store: Store, query: Query) -> pd.DataFrame:
    """Return one row a measurement, in the order taken; raw samples stay in the store.

    Columns: ``MEASUREMENT_COLUMNS``; ``phase`` is ``screen``, ``playoff``, ``transfer`` or
    ``sweep``, ``round`` counts rounds of a playoff or sweep, times are in ms.
    """

    def finish(columns: Columns) -> Columns:
        columns["flags"] = [decoding.split(text) for text in columns["flags"]]
        return columns

    with store.reading() as connection:
        found = connection.execute(select_contexts(query)).mappings()
        chosen = _select_measurements().where(*_of(query, [row["context_id"] for row in found]))
        ordered = chosen.order_by(MeasurementRow.id)
        return _stream(connection, ordered, MEASUREMENT_COLUMNS, finish)


def contexts(store: Store, query: Query) -> pd.DataFrame:
    """Return one row a context, oldest first.

    Columns: ``context_id``, ``CONTEXT_COLUMNS``, ``bytes`` and ``flops`` (the least work),
    ``space`` (``SpaceSnapshot``), ``copy_gbs``, ``matmul_tflops`` (dtype -> TFLOP/s),
    ``launch_floor_ms``, ``runs`` (how many measured it), and the records ``model``,
    ``environment``, ``protocol``.
    """
    counted = select(TrialRow.context_id, func.count(TrialRow.run_id.distinct()).label("runs"))
    with store.reading() as connection:
        found = connection.execute(select_contexts(query)).mappings().all()
        ids = [row["context_id"] for row in found]
        chosen = counted.where(TrialRow.context_id.in_(ids)).group_by(TrialRow.context_id)
        runs = {row.context_id: row.runs for row in connection.execute(chosen)}
    columns: Columns = {name: [] for name in ("context_id", *CONTEXT_COLUMNS, *FACT_COLUMNS)}
    for row in found:
        values = _context_columns(row) | _facts(row) | {"runs": runs.get(row["context_id"], 0)}
        for name, value in ({"context_id": row["context_id"]} | values).items():
            columns[name].append(value)
    return _frame(columns, tuple(columns))


def picks(store: Store, query: Query) -> list[Pick]:
    """Return the standing pick of each matching context; simulated ones only if asked for."""
    with store.reading() as connection:
        return stored_picks.load(connection, query, latest=True)


def with_parameters(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a column ``param.<NAME>`` for each parameter that any row's ``config`` has.

    Rows that do not set it hold a missing value; whole numbers are ``Int64``.
    """
    return _unfold(frame, "config", "param")


def with_problem(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a column ``problem.<FIELD>`` for each field that any row's problem has."""
    return _unfold(frame, "problem_fields", "problem")


def _unfold(frame: pd.DataFrame, column: str, prefix: str) -> pd.DataFrame:
    mappings: list[Mapping[str, Any]] = frame[column].tolist()
    names = dict.fromkeys(name for mapping in mappings for name in mapping)
    added = {
        f"{prefix}.{name}": _typed([mapping.get(name) for mapping in mappings]) for name in names
    }
    columns = pd.DataFrame(added, index=range(len(frame)))
    return pd.concat([frame, columns.set_index(frame.index)], axis=1)


def _typed(values: list[Any]) -> Any:
    """Return a column that prints each value as it was declared."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pd.array(values, dtype="Int64")
    if kinds == {float}:
        return np.array([np.nan if value is None else value for value in values])
    return _objects(values)


def _select_trials() -> Select[Any]:
    """Select what ``trials`` shows of a trial, context aside."""
    named = (TrialRow.id.label("trial_id"), func.coalesce(StudyRow.name, "").label("study"))
    elsewhere = ("trial_id", "study", *CONTEXT_COLUMNS)
    own = [name for name in TRIAL_COLUMNS if name not in elsewhere]
    return (
        select(*named, *(getattr(TrialRow, name) for name in own))
        .outerjoin(RunRow, RunRow.id == TrialRow.run_id)
        .outerjoin(StudyRow, StudyRow.id == RunRow.study_id)
    )


def _select_measurements() -> Select[Any]:
    own = (getattr(MeasurementRow, name) for name in MEASUREMENT_COLUMNS[3:])
    keys = (TrialRow.id.label("trial_id"), TrialRow.context_id, TrialRow.config_id)
    return select(*keys, *own).join(TrialRow, TrialRow.id == MeasurementRow.trial_id)


def _of(query: Query, context_ids: list[str]) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [TrialRow.context_id.in_(context_ids)]
    return [*conditions, in_study(query.study)] if query.study is not None else conditions


def _stream(
    connection: Connection,
    chosen: Select[Any],
    names: Sequence[str],
    finish: Callable[[Columns], Columns],
) -> pd.DataFrame:
    """Read in parts, so that a million rows never exist as Python objects all at once."""
    result = connection.execution_options(yield_per=_PART).execute(chosen)
    keys = tuple(result.keys())
    seen: dict[str, str] = {}
    parts = []
    for part in result.partitions():
        columns = dict(zip(keys, map(list, zip(*part, strict=True)), strict=True))
        for name in _REPEATED & columns.keys():
            # The driver makes a new text for every cell: half a gigabyte in a million rows.
            columns[name] = [seen.setdefault(text, text) for text in columns[name]]
        parts.append(_frame(finish(columns), names))
    if not parts:
        return _frame({name: [] for name in names}, names)
    return pd.concat(parts, ignore_index=True)


def _context_columns(row: RowMapping) -> dict[str, Any]:
    fields = dict(decoding.context_of(row).problem)
    return {**{name: row[name] for name in CONTEXT_COLUMNS[:-1]}, "problem_fields": fields}


def _facts(row: RowMapping) -> dict[str, Any]:
    context = decoding.context_of(row)
    return {
        "bytes": row["work_bytes"],
        "flops": row["work_flops"],
        "space": decoding.space_of(row),
        "copy_gbs": row["copy_gbs"],
        "matmul_tflops": decoding.matmul_tflops_of(row),
        "launch_floor_ms": row["launch_floor_ms"],
        "model": context.model,
        "environment": context.environment,
        "protocol": context.protocol,
    }


def _spread(known: Mapping[str, dict[str, Any]], context_ids: Sequence[str]) -> Columns:
    """Repeat each context's columns for its trials."""
    return {
        name: [known[context_id][name] for context_id in context_ids] for name in CONTEXT_COLUMNS
    }


def _frame(columns: Columns, names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({name: _column(name, columns[name]) for name in names}, columns=list(names))


def _column(name: str, values: list[Any]) -> Any:
    kind = _DTYPES.get(name)
    if kind is None:
        return pd.Series(values, dtype="str")
    if kind == "object":
        return _objects(values)
    if kind == "Int64":
        return pd.array(values, dtype="Int64")
    return np.array([np.nan if value is None else value for value in values], dtype=kind)


def _objects(values: list[Any]) -> Any:
    """Return an object column; tuples and mappings stay one value each."""
    column = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        column[position] = value
    return pd.Series(column, dtype=object)
