"""Rebuilds stored contexts as Optuna studies in memory, for Optuna's own dashboard and plots.

Optuna is imported by the functions that need it: nothing else that reads results does.
"""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from autotune_lab.analysis.parameters import key_of
from autotune_lab.records import SpaceSnapshot

if TYPE_CHECKING:
    import optuna

_UNFINISHED = frozenset({"running", "interrupted"})


def as_storage(contexts: pd.DataFrame, trials: pd.DataFrame) -> "optuna.storages.InMemoryStorage":
    """Return one study for each context that has finished trials, all in one storage in memory.

    The objective is the screening time in ms. A failed config is a failed trial whose user
    attributes have its state and reason. Nothing that is done to the storage reaches the store.

    Args:
        contexts: of ``frames.contexts``.
        trials: of ``frames.trials``, of the same query.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.InMemoryStorage()
    finished = trials[~trials["state"].isin(_UNFINISHED)]
    of_context = dict(iter(finished.groupby("context_id", sort=False)))
    names: set[str] = set()
    found: list[Any] = list(contexts.itertuples(index=False))
    for row in found:
        if row.context_id not in of_context:
            continue
        name = f"{row.kernel} {row.problem} on {row.device_model} ({row.source})"
        if name in names:
            name = f"{name} {row.context_id}"
        names.add(name)
        study = optuna.create_study(study_name=name, storage=storage, direction="minimize")
        study.add_trials(_frozen(row.space, of_context[row.context_id]))
    return storage


def _frozen(space: SpaceSnapshot, rows: pd.DataFrame) -> list[Any]:
    distributions = {
        name: _distribution(values, is_ordered=name in space.ordered)
        for name, values in space.parameters.items()
    }
    declared = {name: {key_of(v) for v in values} for name, values in space.parameters.items()}
    found: list[Any] = list(rows.itertuples(index=False))
    return [
        _trial(row, distributions)
        for row in found
        # A space may have been declared anew since; a value it no longer has can't be drawn.
        if all(
            name in row.config and key_of(row.config[name]) in declared[name] for name in declared
        )
    ]


def _trial(row: Any, distributions: dict[str, Any]) -> Any:
    import optuna

    state = optuna.trial.TrialState.FAIL
    if row.state == "ok" and math.isfinite(row.time_ms):
        state = optuna.trial.TrialState.COMPLETE
    elif row.state == "pruned":
        state = optuna.trial.TrialState.PRUNED
    attributes = {"state": row.state, "reason": row.reason, "flags": list(row.flags)}
    for name in ("shared_bytes", "registers", "spill_bytes"):
        value = getattr(row, name)
        if not pd.isna(value):
            attributes[name] = int(value)
    trial = optuna.trial.create_trial(
        state=state,
        value=float(row.time_ms) if state is optuna.trial.TrialState.COMPLETE else None,
        params={name: _shown(row.config[name]) for name in distributions},
        distributions=distributions,
        user_attrs={name: value for name, value in attributes.items() if value not in ("", [])},
    )
    moment = _moment(row.finished_at)
    if moment is not None:
        trial.datetime_start = trial.datetime_complete = moment
    return trial


def _distribution(values: Sequence[Any], *, is_ordered: bool) -> Any:
    """Return a range where values are whole numbers in order, else the choices as declared."""
    import optuna

    whole = all(type(value) is int for value in values)
    if is_ordered and whole and len(values) > 1:
        low, high = min(values), max(values)
        return optuna.distributions.IntDistribution(low, high, log=low > 0 and high >= 8 * low)
    return optuna.distributions.CategoricalDistribution([_shown(value) for value in values])


def _shown(value: Any) -> Any:
    """Return a value as Optuna takes it; a tuple as its text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _moment(text: str) -> datetime | None:
    """Read a time of day as Optuna keeps it: local and without a zone."""
    try:
        return datetime.fromisoformat(text).astimezone().replace(tzinfo=None)
    except ValueError:
        return None
