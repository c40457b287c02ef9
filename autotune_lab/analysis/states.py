"""Counts how trials ended, with reasons and with what the rejected ones would have needed."""

import pandas as pd

from autotune_lab.records import TrialState

BY = ("kernel", "code_hash", "device_model", "problem", "context_id")


def counts(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the number of trials by context and state; they sum to the trials of the context.

    Returns:
        index: ``BY``; one int64 column a state that occurs, in the order of ``TrialState``.
    """
    sizes = trials.groupby([*BY, "state"], sort=False).size()
    table = sizes.unstack("state", fill_value=0)  # noqa: PD010
    return table[[state.value for state in TrialState if state.value in table.columns]]


def reasons(trials: pd.DataFrame) -> pd.DataFrame:
    """Return each reason of a failure with its count and one config that met it.

    Returns:
        columns: *BY, state, reason, trials, config; most frequent first within a context.
    """
    failed = trials[trials["state"].isin([s.value for s in TrialState if s.is_failure])]
    grouped = failed.groupby([*BY, "state", "reason"], sort=False)
    table = grouped.agg(trials=("config_id", "size"), config=("config", "first")).reset_index()
    return table.sort_values(
        ["context_id", "trials"], ascending=[True, False], kind="stable", ignore_index=True
    )


def needs(trials: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest resource need among configs that did not fit, against the limit.

    Args:
        trials: columns of ``store.frames.trials``.
        limits: columns of ``store.frames.contexts``; the limit is that of ``model``.

    Returns:
        columns: *BY, rejected, smallest_shared_bytes, largest_shared_bytes, limit_shared_bytes (0
        when unknown), one row a context with rejected configs.
    """
    rejected = trials[trials["state"] == TrialState.OUT_OF_RESOURCES]
    table = (
        rejected.groupby(list(BY), sort=False)
        .agg(
            rejected=("config_id", "size"),
            smallest_shared_bytes=("shared_bytes", "min"),
            largest_shared_bytes=("shared_bytes", "max"),
        )
        .reset_index()
    )
    limit = {
        context_id: model.max_shared_bytes
        for context_id, model in zip(limits["context_id"], limits["model"], strict=True)
    }
    return table.assign(limit_shared_bytes=table["context_id"].map(limit).fillna(0).astype("int64"))


def complete(trials: pd.DataFrame, known: pd.DataFrame) -> frozenset[str]:
    """Return the ids of the contexts whose whole space has ended in some state."""
    table = coverage(trials, known)
    is_whole = (table["space_size"] > 0) & (table["seen"] >= table["space_size"])
    return frozenset(table.loc[is_whole, "context_id"])


def coverage(trials: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return how much of each space has ended in some state.

    Args:
        trials: columns of ``store.frames.trials``.
        known: columns of ``store.frames.contexts``.

    Returns:
        columns: context_id, seen, space_size.
    """
    unfinished = [TrialState.RUNNING.value, TrialState.INTERRUPTED.value]
    ended = trials[~trials["state"].isin(unfinished)]
    seen = ended.groupby("context_id")["config_id"].nunique()
    return pd.DataFrame(
        {
            "context_id": known["context_id"],
            "seen": known["context_id"].map(seen).fillna(0).astype("int64"),
            "space_size": [space.size for space in known["space"]],
        }
    )
