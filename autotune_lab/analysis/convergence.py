"""Shows how a search approached its best, and how random search would have done there."""

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import Floats
from autotune_lab.records import TrialState


def best_so_far(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the best time after each trial of each context.

    Args:
        trials: columns of ``store.frames.trials``.

    Returns:
        columns: context_id, study, number (as tried), trials (how many so far, from 1), best_ms
        (NaN before the first that ran), device_ms (kernel time spent on samples so far: samples
        times median; failures add nothing), finished_at.
    """
    ended = trials[~trials["state"].isin([TrialState.RUNNING, TrialState.INTERRUPTED])]
    ordered = ended.sort_values(["context_id", "number", "trial_id"], kind="stable")
    counts = (ordered["state"] == TrialState.OK) & ordered["is_eligible"]
    time_ms = ordered["time_ms"].where(counts & (ordered["time_ms"] > 0))
    grouped = time_ms.groupby(ordered["context_id"], sort=False)
    spent_ms = (ordered["samples"] * ordered["time_ms"]).fillna(0.0)
    return pd.DataFrame(
        {
            "context_id": ordered["context_id"],
            "study": ordered["study"],
            "number": ordered["number"],
            "trials": ordered.groupby("context_id", sort=False).cumcount() + 1,
            "best_ms": grouped.cummin().groupby(ordered["context_id"], sort=False).ffill(),
            "device_ms": spent_ms.groupby(ordered["context_id"], sort=False).cumsum(),
            "finished_at": ordered["finished_at"],
        }
    ).reset_index(drop=True)


def random_search(times_ms: Floats, draws: int) -> Floats:
    """Return the expected best time after 1, 2, ... draws without repetition from a whole space.

    Of N configs, f fail. With the times sorted, the i-th (from 0) is the best of k draws with
    probability C(N-1-i, k-1) / C(N, k), the hypergeometric minimum; draws that are all failures
    count as the slowest time that runs.

    Args:
        times_ms: (configs,) one time each; NaN for those that do not run.
        draws: at most the number of configs.

    Returns:
        (draws,) expected best time in ms.
    """
    total = len(times_ms)
    ran = np.sort(times_ms[~np.isnan(times_ms)])
    if not len(ran):
        return np.full(draws, np.nan)
    expected = np.empty(draws)
    places = np.arange(len(ran))
    chance = np.full(len(ran), 1 / total)
    for draw in range(1, draws + 1):
        # chance[i] = P(the best of `draw` draws is i), by its ratio to the one before.
        expected[draw - 1] = chance @ ran + (1 - chance.sum()) * ran[-1]
        left = np.maximum(total - places - draw, 0)
        chance = chance * left * (draw + 1) / (draw * (total - draw)) if draw < total else chance
    return expected


def trials_to_reach(history: pd.DataFrame, ratio: float = 1.05) -> pd.DataFrame:
    """Return how many trials it took to come within a ratio of the best that was found.

    Args:
        history: from ``best_so_far``.
        ratio: of the final best.

    Returns:
        columns: context_id, trials_needed, trials, best_ms, for contexts where something ran.
    """
    ran = history.dropna(subset=["best_ms"])
    final = ran.groupby("context_id", sort=False)["best_ms"].transform("min")
    reached = ran[ran["best_ms"] <= ratio * final]
    return pd.DataFrame(
        {
            "trials_needed": reached.groupby("context_id", sort=False)["trials"].min(),
            "trials": ran.groupby("context_id", sort=False)["trials"].max(),
            "best_ms": ran.groupby("context_id", sort=False)["best_ms"].min(),
        }
    ).reset_index()
