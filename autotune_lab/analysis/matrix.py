"""Turns trials into one matrix of times and efficiencies, config by context, that the rest reads.

A kernel's trials fill one matrix per code and protocol, because times under another protocol are
never compared. Simulated sources are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autotune_lab.records import Phase, Pick, Source, TrialState
from autotune_lab.spaces.config import Config

NOT_MEASURED, DOES_NOT_RUN, MEASURED = 0, 1, 2
STATE_NAMES = {
    NOT_MEASURED: "not measured",
    DOES_NOT_RUN: "does not run",
    MEASURED: "measured",
}
SUBJECT = ("kernel", "code_hash", "protocol_id")

Floats = NDArray[np.float64]
_SIMULATED = [source.value for source in Source if source.is_simulated]
_FAILURES = [state.value for state in TrialState if state.is_failure]


@dataclass(frozen=True, slots=True)
class Column:
    """The context of a column, and when its last trial ended (UTC, ISO 8601)."""

    context_id: str
    kernel: str
    code_hash: str
    protocol_id: str
    problem: str
    device_model: str
    device_model_id: str
    environment_id: str
    triton: str
    driver: str
    source: str
    finished_at: str


@dataclass(frozen=True, slots=True)
class TimeMatrix:
    """All that is known of one kernel: (configs, contexts).

    Attributes:
        columns: one context each.
        configs: one a row.
        states: int8, ``NOT_MEASURED``, ``DOES_NOT_RUN`` or ``MEASURED``.
        times_ms: float64, median of the playoff rounds where there are some, else of the first
            look; NaN unless measured.
        is_fresh: bool, the time is of playoff rounds.
        efficiency: float64, best time of the context over the time; 0 where the config does not
            run, NaN where it was not measured.
        winners: (contexts,) row of each context's winner, -1 without one.
        reasons: (row, column) -> what went wrong, for cells without a time.
    """

    columns: tuple[Column, ...]
    configs: tuple[Config, ...]
    states: NDArray[np.int8]
    times_ms: Floats
    is_fresh: NDArray[np.bool_]
    efficiency: Floats
    winners: NDArray[np.int64]
    reasons: Mapping[tuple[int, int], str]

    @property
    def best_ms(self) -> Floats:
        """Return each context's winning time; NaN without one."""
        return _at(self.times_ms, self.winners)

    def only(self, columns: Iterable[int]) -> "TimeMatrix":
        """Return the part with these columns, all configs kept."""
        chosen = list(columns)
        place = {column: position for position, column in enumerate(chosen)}
        return TimeMatrix(
            columns=tuple(self.columns[column] for column in chosen),
            configs=self.configs,
            states=self.states[:, chosen],
            times_ms=self.times_ms[:, chosen],
            is_fresh=self.is_fresh[:, chosen],
            efficiency=self.efficiency[:, chosen],
            winners=self.winners[chosen],
            reasons={
                (row, place[column]): text
                for (row, column), text in self.reasons.items()
                if column in place
            },
        )

    def row(self, config_id: str) -> int:
        """Return the row of a config, or -1."""
        return next((i for i, config in enumerate(self.configs) if config.id == config_id), -1)


def matrices(
    trials: pd.DataFrame, measurements: pd.DataFrame | None = None, picks: Iterable[Pick] = ()
) -> list[TimeMatrix]:
    """Return one matrix for each kernel, code and protocol in the trials.

    Args:
        trials: columns of ``store.frames.trials``.
        measurements: columns of ``store.frames.measurements``; gives fresh times.
        picks: winners of contexts; a context without one is won by its best time.
    """
    real = trials[~trials["source"].isin(_SIMULATED)]
    won = {pick.context.id: pick.config.id for pick in picks}
    taken = None if measurements is None else measurements[measurements["median_ms"] > 0]
    return [
        build(frame, taken, won)
        for _, frame in real.groupby(list(SUBJECT), sort=True, observed=True)
    ]


def build(
    trials: pd.DataFrame, measurements: pd.DataFrame | None, won: Mapping[str, str]
) -> TimeMatrix:
    """Return the matrix of one kernel, code and protocol.

    Args:
        trials: columns of ``store.frames.trials``.
        measurements: columns of ``store.frames.measurements``, or None.
        won: context id -> id of the config that won it.
    """
    rows, config_ids = pd.factorize(trials["config_id"])
    columns, context_ids = pd.factorize(trials["context_id"])
    shape = (len(config_ids), len(context_ids))
    states, first_ms, reasons = _fill(trials.reset_index(drop=True), rows, columns, shape)
    fresh_ms = np.full(shape, np.nan)
    if measurements is not None and len(measurements):
        row_of, column_of = pd.Index(config_ids), pd.Index(context_ids)
        _place(first_ms, _pruned(trials, measurements), row_of, column_of, states)
        _place(fresh_ms, _playoff_medians(measurements), row_of, column_of, states)
        fresh_ms[states != MEASURED] = np.nan
    winners = _winners(fresh_ms, first_ms, config_ids, context_ids, won)
    first_of_config = np.unique(rows, return_index=True)[1]
    is_fresh = ~np.isnan(fresh_ms)
    return TimeMatrix(
        columns=_describe(trials, context_ids),
        configs=tuple(trials["config"].iloc[first_of_config]),
        states=states,
        times_ms=np.where(is_fresh, fresh_ms, first_ms),
        is_fresh=is_fresh,
        efficiency=_efficiency(states, first_ms, fresh_ms, winners),
        winners=winners,
        reasons={cell: text for cell, text in reasons.items() if states[cell] != MEASURED},
    )


def _fill(
    trials: pd.DataFrame, rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]
) -> tuple[NDArray[np.int8], Floats, dict[tuple[int, int], str]]:
    """Place each trial in its cell; of several, a measured one counts most, then the last."""
    is_ok = (trials["state"] == TrialState.OK).to_numpy()
    time_ms = trials["time_ms"].to_numpy(dtype=np.float64)
    is_measured = is_ok & trials["is_eligible"].to_numpy(dtype=bool) & (time_ms > 0)
    is_measured &= np.isfinite(time_ms)
    fails = trials["state"].isin(_FAILURES).to_numpy()
    standing = np.where(is_measured, MEASURED, np.where(fails, DOES_NOT_RUN, NOT_MEASURED))
    order = np.argsort(standing, kind="stable")
    source = np.full(shape, -1, dtype=np.int64)
    source[rows[order], columns[order]] = order  # of repeated cells NumPy keeps the last
    states = np.where(source >= 0, standing[source], NOT_MEASURED).astype(np.int8)
    first_ms = np.where(states == MEASURED, time_ms[source], np.nan)
    explained = np.argwhere((source >= 0) & (states != MEASURED))
    state_texts, reason_texts = trials["state"].to_numpy(), trials["reason"].to_numpy()
    reasons = {}
    for row, column in explained:
        at = source[row, column]
        text = "disturbed" if is_ok[at] else state_texts[at]
        reasons[int(row), int(column)] = f"{text}: {reason_texts[at]}".rstrip(": ")
    return states, first_ms, reasons


def _pruned(trials: pd.DataFrame, measurements: pd.DataFrame) -> "pd.Series[float]":
    """Return the short times of configs that were given up early: slow, but measured."""
    pruned = trials.loc[trials["state"] == TrialState.PRUNED, ["context_id", "config_id"]]
    looks = measurements[measurements["phase"] != Phase.PLAYOFF]
    looks = looks[looks["is_eligible"]].merge(pruned.drop_duplicates(), how="inner")
    return looks.groupby(["context_id", "config_id"], sort=False)["median_ms"].first()


def _playoff_medians(measurements: pd.DataFrame) -> "pd.Series[float]":
    is_round = (measurements["phase"] == Phase.PLAYOFF) & measurements["is_eligible"]
    rounds = measurements[is_round]
    return rounds.groupby(["context_id", "config_id"], sort=False)["median_ms"].median()


def _place(
    target: Floats,
    times_ms: "pd.Series[float]",
    row_of: "pd.Index[Any]",
    column_of: "pd.Index[Any]",
    states: NDArray[np.int8],
) -> None:
    """Write times by (context, config) into their cells, which become measured unless they fail."""
    index = times_ms.index
    columns = column_of.get_indexer(index.get_level_values(0))
    rows = row_of.get_indexer(index.get_level_values(1))
    known = (rows >= 0) & (columns >= 0)
    rows, columns = rows[known], columns[known]
    target[rows, columns] = times_ms.to_numpy()[known]
    untouched = states[rows, columns] == NOT_MEASURED
    states[rows[untouched], columns[untouched]] = MEASURED


def _winners(
    fresh_ms: Floats,
    first_ms: Floats,
    config_ids: Iterable[str],
    context_ids: Iterable[str],
    won: Mapping[str, str],
) -> NDArray[np.int64]:
    """Return each context's winning row: its pick, else the best fresh time, else the best."""
    place = {config_id: row for row, config_id in enumerate(config_ids)} if won else {}
    winners = []
    for column, context_id in enumerate(context_ids):
        row = place.get(won.get(context_id, ""), -1)
        for times_ms in (fresh_ms[:, column], first_ms[:, column]):
            if row < 0 and not np.isnan(times_ms).all():
                row = int(np.nanargmin(times_ms))
        winners.append(row)
    return np.array(winners, dtype=np.int64)


def _efficiency(
    states: NDArray[np.int8], first_ms: Floats, fresh_ms: Floats, winners: NDArray[np.int64]
) -> Floats:
    """Compare like with like: fresh times with the best fresh one, first looks with first looks.

    A first look is held against the winner's own first look where the winner was re-measured: the
    smallest of many single passes is too fast by 13% to 17% (H200, GEMM).
    """
    best_fresh = _smallest(fresh_ms)
    winner_first = _at(first_ms, winners)
    has_rounds = ~np.isnan(best_fresh) & ~np.isnan(winner_first)
    best_first = np.where(has_rounds, winner_first, _smallest(first_ms))
    efficiency = np.where(np.isnan(fresh_ms), best_first / first_ms, best_fresh / fresh_ms)
    efficiency = np.minimum(efficiency, 1.0)
    efficiency[states == DOES_NOT_RUN] = 0.0
    return efficiency


def _smallest(times_ms: Floats) -> Floats:
    """Return the minimum of each column, NaN where there is none."""
    smallest = np.where(np.isnan(times_ms), np.inf, times_ms).min(axis=0, initial=np.inf)
    return np.where(np.isinf(smallest), np.nan, smallest)


def _at(values: Floats, rows: NDArray[np.int64]) -> Floats:
    """Return one value of each column, NaN where the row is -1."""
    picked = values[rows, np.arange(values.shape[1])]
    return np.where(rows >= 0, picked, np.nan)


def _describe(trials: pd.DataFrame, context_ids: Iterable[str]) -> tuple[Column, ...]:
    named = [field.name for field in fields(Column)]
    last = trials.sort_values("finished_at", kind="stable").groupby("context_id").tail(1)
    rows: list[Any] = last.fillna({"finished_at": ""})[named].to_dict("records")
    described = {row["context_id"]: Column(**row) for row in rows}
    return tuple(described[context_id] for context_id in context_ids)
