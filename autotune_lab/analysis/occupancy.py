"""Shows what resources buy: the fastest config at each level, and how full an SM gets.

Occupancy is theoretical, from what the compiler used (see ``compiling.occupancy``): how many warps
an SM could hold, not how many did.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.compiling.occupancy import Occupancy, occupancy
from autotune_lab.compiling.targets import TARGETS, Target, target_of
from autotune_lab.records import DeviceModel, Resources, TrialState

RESOURCES = ("shared_bytes", "registers", "spill_bytes", "threads")
COLUMNS = ["context_id", "resource", "level", "configs", "best_ms", "median_ms", "is_frontier"]


def occupancies(trials: pd.DataFrame, models: Mapping[str, DeviceModel]) -> pd.DataFrame:
    """Return the occupancy of each trial's config.

    Args:
        trials: columns of ``store.frames.trials``.
        models: context id -> the device model.

    Returns:
        index: that of ``trials``; columns: occupancy (share of an SM's warps, NaN where a resource
        or the architecture's limits are not known), limited_by (what one more block would lack).
    """
    known = {i: target_of(m) for i, m in models.items() if m.architecture in TARGETS}
    cache: dict[tuple[Any, ...], Occupancy | None] = {}
    found = []
    names = ("context_id", "threads", "registers", "shared_bytes")
    for key in trials[list(names)].itertuples(index=False, name=None):
        if key not in cache:
            cache[key] = _occupancy(known.get(key[0]), *key[1:])
        found.append(cache[key])
    return pd.DataFrame(
        {
            "occupancy": [one.fraction if one else np.nan for one in found],
            "limited_by": [", ".join(one.limited_by) if one else "" for one in found],
        },
        index=trials.index,
    )


def _occupancy(
    target: Target | None, threads: Any, registers: Any, shared_bytes: Any
) -> Occupancy | None:
    if target is None or any(pd.isna(value) for value in (threads, registers, shared_bytes)):
        return None
    resources = Resources(
        threads=int(threads), registers=int(registers), shared_bytes=int(shared_bytes)
    )
    return occupancy(resources, target)


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
