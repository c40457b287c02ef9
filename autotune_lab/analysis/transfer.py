"""Answers what the winner of one context is worth in another: the transfer matrix.

Efficiency on B of the winner of A is the best time on B over the time there. A config that fails
on B counts as 0 and reads "does not run"; one that nobody tried there reads "not measured".
Contexts of different environments stand side by side and are never averaged.
"""

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import (
    DOES_NOT_RUN,
    NOT_MEASURED,
    STATE_NAMES,
    Column,
    TimeMatrix,
)
from autotune_lab.spaces.config import Config


class Axis(enum.StrEnum):
    """What differs between the contexts of one transfer matrix."""

    DEVICE = "device"
    PROBLEM = "problem"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a transfer matrix, and one row of the frame of them.

    Attributes:
        group: what the contexts of this matrix share.
        tuned_on, run_on: labels; ``tuned_on`` is ``"default"`` for the kernel's declared config.
        state: ``"measured"``, ``"does not run"`` or ``"not measured"``; ``reason`` says why.
        efficiency: 0 where it does not run, NaN where it was not measured.
        loss: 1 - efficiency.
        is_fresh: the time is of playoff rounds.
        noise_floor: loss on ``run_on`` that noise alone makes; NaN when unknown.
        is_real: the loss is above that; None where either is unknown.
        default_efficiency: that of the default on ``run_on``; NaN where it is unknown.
    """

    axis: str
    kernel: str
    code_hash: str
    group: str
    tuned_on: str
    run_on: str
    tuned_context_id: str
    run_context_id: str
    config_id: str
    config: Config
    is_default: bool
    state: str
    reason: str
    efficiency: float
    loss: float
    time_ms: float
    best_ms: float
    is_fresh: bool
    noise_floor: float
    is_real: bool | None
    default_efficiency: float


DEFAULT = "default"
OUTSIDE = "outside the space there"
COLUMNS = [field.name for field in fields(Entry)]


def entries(
    matrix: TimeMatrix,
    axis: Axis,
    floors: pd.DataFrame | None = None,
    defaults: Mapping[str, str] | None = None,
    *,
    complete: Collection[str] = (),
) -> pd.DataFrame:
    """Return every cell of a kernel's transfer matrices along an axis, one row an ``Entry``.

    Args:
        matrix: of one kernel.
        axis: what differs; contexts that differ in more stand in different groups.
        floors: from ``noise.floors``.
        defaults: context id -> id of the kernel's declared default config there.
        complete: ids of contexts whose whole space was tried (``states.complete``), so that a
            config which was not is outside that space.
    """
    found: list[Entry] = []
    for columns in groups(matrix.columns, axis):
        labels = label(matrix.columns, columns, axis)
        for run in columns:
            default = matrix.row((defaults or {}).get(matrix.columns[run].context_id, ""))
            tuned_on = [*(c for c in columns if matrix.winners[c] >= 0), *([None] * (default >= 0))]
            found += [
                _entry(matrix, axis, labels, tuned, run, default, floors) for tuned in tuned_on
            ]
    rows = [[getattr(entry, name) for name in COLUMNS] for entry in found]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    is_outside = (frame["state"] == STATE_NAMES[NOT_MEASURED]) & (frame["reason"] == "")
    is_outside &= frame["run_context_id"].isin(list(complete))
    frame.loc[is_outside, "reason"] = OUTSIDE
    return frame.astype({"is_real": "boolean", "is_default": bool})


def groups(columns: Sequence[Column], axis: Axis) -> list[list[int]]:
    """Return the columns of each transfer matrix along an axis: two or more that differ in it."""
    found: dict[tuple[str, ...], list[int]] = {}
    for index, column in enumerate(columns):
        found.setdefault(_fixed(column, axis), []).append(index)
    return [
        sorted(group, key=lambda index: (_subject(columns[index], axis), index))
        for _, group in sorted(found.items())
        if len({_subject(columns[index], axis) for index in group}) > 1
    ]


def label(columns: Sequence[Column], group: Sequence[int], axis: Axis) -> dict[int, str]:
    """Name each column of a group by what differs, and by as much more as it takes to be unique."""
    if axis is Axis.PROBLEM:
        return {index: columns[index].problem for index in group}
    names = {index: columns[index].device_model for index in group}
    if axis is Axis.ENVIRONMENT:
        names = {index: _environment(columns[index]) for index in group}
    for more in _DISTINCTIONS:
        taken = list(names.values())
        for index, name in names.items():
            if taken.count(name) > 1:
                names[index] = f"{name} ({more(columns[index])})"
    return names


def table(frame: pd.DataFrame, values: str = "efficiency") -> pd.DataFrame:
    """Return the cells of one group as a table: tuned_on by run_on, the default last."""
    wide = frame.set_index(["tuned_on", "run_on"])[values].unstack("run_on")  # noqa: PD010
    order = [name for name in wide.index if name != DEFAULT]
    return wide.reindex(order + [name for name in wide.index if name == DEFAULT])


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each winner and group: how it does away from home.

    Returns:
        columns: kernel, code_hash, group, tuned_on, is_default, elsewhere (other contexts), known
        (of those, measured or failing), fails, worst_efficiency, worst_on, mean_efficiency. The
        mean is withheld (NaN) unless all are known; the worst is of those that are.
    """
    keys = ["kernel", "code_hash", "group", "tuned_on", "is_default"]
    away = frame[frame["tuned_context_id"] != frame["run_context_id"]]
    away = away.sort_values("efficiency", kind="stable", na_position="last")
    away = away.assign(is_failing=away["state"] == STATE_NAMES[DOES_NOT_RUN])
    table = away.groupby(keys, sort=False).agg(
        elsewhere=("efficiency", "size"),
        known=("efficiency", "count"),
        fails=("is_failing", "sum"),
        worst_efficiency=("efficiency", "min"),
        worst_on=("run_on", "first"),
        mean_efficiency=("efficiency", "mean"),
    )
    table["worst_on"] = table["worst_on"].where(table["known"] > 0, "")
    table["mean_efficiency"] = table["mean_efficiency"].where(table["known"] == table["elsewhere"])
    return table.sort_index(level=["group", "tuned_on"]).reset_index()


def slower_than_default(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every cell where the tuned config is slower than the default there, or fails."""
    worse = frame["efficiency"] < frame["default_efficiency"]
    return frame[worse & ~frame["is_default"]].reset_index(drop=True)


def _entry(
    matrix: TimeMatrix,
    axis: Axis,
    labels: Mapping[int, str],
    tuned: int | None,
    run: int,
    default: int,
    floors: pd.DataFrame | None,
) -> Entry:
    """Return a cell: the winner of column ``tuned``, or else the default, in column ``run``."""
    row = default if tuned is None else int(matrix.winners[tuned])
    column = matrix.columns[run]
    state = int(matrix.states[row, run])
    efficiency = float(matrix.efficiency[row, run])
    is_fresh = bool(matrix.is_fresh[row, run])
    floor = _floor(floors, column.context_id, is_fresh=is_fresh)
    return Entry(
        axis=axis.value,
        kernel=column.kernel,
        code_hash=column.code_hash,
        group=_group_name(column, axis),
        tuned_on=DEFAULT if tuned is None else labels[tuned],
        run_on=labels[run],
        tuned_context_id="" if tuned is None else matrix.columns[tuned].context_id,
        run_context_id=column.context_id,
        config_id=matrix.configs[row].id,
        config=matrix.configs[row],
        is_default=tuned is None,
        state=STATE_NAMES[state],
        reason=matrix.reasons.get((row, run), ""),
        efficiency=efficiency,
        loss=1 - efficiency,
        time_ms=float(matrix.times_ms[row, run]),
        best_ms=float(matrix.best_ms[run]),
        is_fresh=is_fresh,
        noise_floor=floor,
        is_real=_is_real(1 - efficiency, floor),
        default_efficiency=float(matrix.efficiency[default, run]) if default >= 0 else np.nan,
    )


def _is_real(loss: float, floor: float) -> bool | None:
    """Say whether a loss is more than noise; a failure always is."""
    if loss == 1:
        return True
    return None if np.isnan(loss) or np.isnan(floor) else loss > floor


def _floor(floors: pd.DataFrame | None, context_id: str, *, is_fresh: bool) -> float:
    if floors is None or context_id not in floors.index:
        return np.nan
    known = floors["rounds_floor" if is_fresh else "look_floor"]
    return float(known[context_id])


def _subject(column: Column, axis: Axis) -> str:
    """Return what the contexts of one matrix must differ in."""
    if axis is Axis.DEVICE:
        return column.device_model_id
    return column.problem if axis is Axis.PROBLEM else column.environment_id


def _fixed(column: Column, axis: Axis) -> tuple[str, ...]:
    """Return what the contexts of one matrix must share. Two GPUs rarely share an environment."""
    if axis is Axis.DEVICE:
        return (column.problem,)
    if axis is Axis.PROBLEM:
        return (column.device_model, column.device_model_id, column.environment_id)
    return (column.device_model, column.device_model_id, column.problem)


def _group_name(column: Column, axis: Axis) -> str:
    if axis is Axis.DEVICE:
        return column.problem
    if axis is Axis.PROBLEM:
        return f"{column.device_model}, {_environment(column)}"
    return f"{column.device_model}, {column.problem}"


def _environment(column: Column) -> str:
    return f"Triton {column.triton or 'unknown'}, driver {column.driver or 'unknown'}"


_DISTINCTIONS: tuple[Callable[[Column], str], ...] = (
    _environment,
    lambda column: column.device_model_id[:6],
    lambda column: column.environment_id[:6],
)
