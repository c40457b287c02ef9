"""Shows what resources buy: the fastest config at each level of registers, memory, spills."""

import pandas as pd

from autotune_lab.records import TrialState

RESOURCES = ("shared_bytes", "registers", "spill_bytes", "threads")
COLUMNS = ["context_id", "resource", "level", "configs", "best_ms", "median_ms", "is_frontier"]


def trade_offs(trials: pd.DataFrame) -> pd.DataFrame:
    """Return how time goes with each compiled resource, over the configs that ran.

    Args:
        trials: columns of ``store.frames.trials``.

    Returns:
        columns: context_id, resource (its column's name), level, configs, best_ms, median_ms,
        is_frontier (no config with as little or less of the resource is faster). A resource that
        is unknown or the same for all is left out of its context.
    """
    ran = trials[(trials["state"] == TrialState.OK) & trials["is_eligible"]]
    ran = ran[ran["time_ms"] > 0]
    parts = []
    for name in RESOURCES:
        known = ran.dropna(subset=[name])
        varied = known.groupby("context_id")[name].transform("nunique") > 1
        grouped = known[varied].groupby(["context_id", name], sort=True)["time_ms"]
        table = grouped.agg(configs="size", best_ms="min", median_ms="median").reset_index()
        table = table.rename(columns={name: "level"}).assign(resource=name)
        earlier = table.groupby("context_id")["best_ms"].cummin()
        table["is_frontier"] = table["best_ms"] <= earlier
        parts.append(table[COLUMNS].astype({"level": "int64"}))
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else parts[0]
