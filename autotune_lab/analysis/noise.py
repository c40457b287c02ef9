"""Says for each context how large a difference must be to be more than noise."""

import math

import numpy as np
import pandas as pd

from autotune_lab.analysis.standings import noise_floor
from autotune_lab.records import Phase, TrialState

NEAR_BEST = 1.5


def floors(trials: pd.DataFrame, measurements: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the noise floors of each context: the relative differences that noise makes in 95%.

    ``rounds_floor`` holds between medians over playoff rounds (``standings.noise_floor``).
    ``look_floor`` holds between first looks. Where configs were re-measured it is 1.96 sqrt(2)
    times the spread (1.4826 median absolute deviation) of fresh time over first look, so it knows
    drift between passes; elsewhere it is sqrt(2) times the median relative half-width of the 95%
    intervals of the configs within 1.5 times the best, which knows only the noise inside one.

    Args:
        trials: columns of ``store.frames.trials``.
        measurements: columns of ``store.frames.measurements``.

    Returns:
        index: context_id; columns: rounds_floor, look_floor (NaN where unknown), look_method
        (``"remeasured"``, ``"intervals"`` or ``""``).
    """
    floors_by_context = pd.DataFrame(
        {"rounds_floor": math.nan, "look_floor": _interval_floors(trials), "look_method": ""},
        index=pd.Index(trials["context_id"].unique(), name="context_id"),
    )
    known = floors_by_context["look_floor"].notna()
    floors_by_context.loc[known, "look_method"] = "intervals"
    if measurements is None or measurements.empty:
        return floors_by_context
    is_round = (measurements["phase"] == Phase.PLAYOFF) & measurements["is_eligible"]
    for context_id, rounds in measurements[is_round].groupby("context_id", sort=False):
        if context_id not in floors_by_context.index:
            continue
        times = rounds.pivot_table(
            index="round", columns="config_id", values="median_ms", aggfunc="last"
        )
        complete = times.dropna(axis="columns", thresh=max(2, len(times) - 1)).dropna()
        if complete.shape[0] >= 2 and complete.shape[1] >= 2:
            floor = noise_floor(complete.to_numpy(dtype=np.float64))
            floors_by_context.loc[context_id, "rounds_floor"] = floor
        looks = trials[trials["context_id"] == context_id].set_index("config_id")["time_ms"]
        between = _between_passes(times.median(), looks)
        if not math.isnan(between):
            floors_by_context.loc[context_id, "look_floor"] = between
            floors_by_context.loc[context_id, "look_method"] = "remeasured"
    return floors_by_context


def _between_passes(fresh_ms: "pd.Series[float]", look_ms: "pd.Series[float]") -> float:
    """Return the noise between a first look and a second one; NaN with fewer than three pairs."""
    look_ms = look_ms[look_ms > 0].groupby(level=0).first()
    ratio = (fresh_ms / look_ms.reindex(fresh_ms.index)).dropna()
    log_ratio = pd.Series(np.log(ratio.to_numpy()))
    if len(log_ratio) < 3:
        return math.nan
    spread = 1.4826 * float((log_ratio - log_ratio.median()).abs().median())
    return 1.96 * math.sqrt(2) * spread


def _interval_floors(trials: pd.DataFrame) -> "pd.Series[float]":
    ran = trials[(trials["state"] == TrialState.OK) & (trials["time_ms"] > 0)]
    best_ms = ran.groupby("context_id")["time_ms"].transform("min")
    near = ran[ran["time_ms"] <= NEAR_BEST * best_ms]
    half_width = (near["high_ms"] - near["low_ms"]) / 2 / near["time_ms"]
    return math.sqrt(2) * half_width.groupby(near["context_id"]).median()
