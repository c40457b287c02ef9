"""Who stands as the winner of each context: its pick, else the fastest of one pass, said so."""

from typing import Any

import pandas as pd

from autotune_lab.records import Pick
from autotune_lab.reporting.data import ReportData

COLUMNS = (
    "label", "context_id", "device_model", "problem", "source", "triton", "config_id", "config",
    "median_ms", "low_ms", "high_ms", "chosen_ms", "default_ms", "gain", "optimism", "tied",
    "candidates", "rounds", "best_probability", "trials", "space_size", "flags", "picked_at",
)  # fmt: skip


def winners(data: ReportData) -> pd.DataFrame:
    """Return one row a context in which some config ran correctly, by label.

    Columns: ``COLUMNS``. ``median_ms`` is over fresh rounds where ``rounds`` is not 0, else the time
    of the one pass that chose it. ``gain`` is the default's time over the winner's, ``optimism``
    ``median_ms / chosen_ms - 1``, ``tied`` counts the configs not distinguishable from it, itself
    included; each is missing where it was not measured.
    """
    picked = {pick.context.id: pick for pick in data.picks}
    rows = []
    for context in data.contexts.to_dict("records"):
        pick = picked.get(context["context_id"])
        found = _of_pick(pick) if pick else _of_one_pass(data.trials, context)
        if found:
            shared = {name: context[name] for name in COLUMNS if name in context}
            rows.append({"label": data.labels[context["context_id"]], **shared, **found})
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("label", ignore_index=True)
    times = ("median_ms", "low_ms", "high_ms", "chosen_ms", "default_ms", "gain", "optimism",
             "best_probability")  # fmt: skip
    counts = ("tied", "candidates", "rounds", "trials", "space_size")
    return frame.astype(dict.fromkeys(times, "float64") | dict.fromkeys(counts, "Int64"))


def _of_pick(pick: Pick) -> dict[str, Any]:
    return {
        "config_id": pick.config.id,
        "config": pick.config,
        "median_ms": pick.median_ms,
        "low_ms": pick.low_ms,
        "high_ms": pick.high_ms,
        "chosen_ms": pick.chosen_ms,
        "default_ms": pick.default_ms,
        "gain": pick.default_ms / pick.median_ms if pick.default_ms else None,
        "optimism": pick.optimism,
        "tied": len(pick.tied) if pick.rounds else None,
        "candidates": pick.candidates,
        "rounds": pick.rounds,
        "best_probability": pick.best_probability,
        "trials": pick.trials,
        "space_size": pick.space_size or None,
        "flags": pick.flags,
        "picked_at": pick.picked_at,
    }


def _of_one_pass(trials: pd.DataFrame, context: dict[str, Any]) -> dict[str, Any] | None:
    mine = trials[trials["context_id"] == context["context_id"]]
    eligible = mine[mine["is_eligible"] & mine["time_ms"].notna()]
    if eligible.empty:
        return None
    best = eligible.sort_values(["time_ms", "config_id"]).iloc[0]
    size = context["space"].size if context["space"] is not None else None
    return {
        "config_id": best["config_id"],
        "config": best["config"],
        "median_ms": best["time_ms"],
        "low_ms": best["low_ms"],
        "high_ms": best["high_ms"],
        "chosen_ms": best["time_ms"],
        "candidates": 0,
        "rounds": 0,
        "trials": mine["config_id"].nunique(),
        "space_size": size or None,
        "flags": tuple(dict.fromkeys((*best["flags"], "not_remeasured"))),
        "picked_at": "",
    }
