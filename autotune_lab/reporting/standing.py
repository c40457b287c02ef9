"""The winners as a frame: one row a context, what sections and their tables start from."""

from typing import Any

import pandas as pd

from autotune_lab.records import Pick
from autotune_lab.reporting.data import ReportData

COLUMNS = {
    "label": "str", "context_id": "str", "device_model": "str", "problem": "str", "source": "str",
    "triton": "str", "config_id": "str", "config": "object", "median_ms": "float64",
    "low_ms": "float64", "high_ms": "float64", "chosen_ms": "float64", "default_ms": "float64",
    "gain": "float64", "optimism": "float64", "tied": "Int64", "candidates": "Int64",
    "rounds": "Int64", "best_probability": "float64", "trials": "Int64", "space_size": "Int64",
    "flags": "object", "picked_at": "str",
}  # fmt: skip


def winners(data: ReportData) -> pd.DataFrame:
    """Return one row a context in which some config ran correctly, by label.

    Columns: ``COLUMNS``. ``median_ms`` is over fresh rounds where ``rounds`` is not 0, else the
    time of the one pass that chose it. ``gain`` is the default's time over the winner's,
    ``optimism`` ``median_ms / chosen_ms - 1``, ``tied`` counts the configs not distinguishable from
    it, itself included; each is missing where it was not measured.
    """
    rows = [_row(pick, data.labels[pick.context.id]) for pick in data.picks]
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    return frame.sort_values("label", ignore_index=True)


def _row(pick: Pick, label: str) -> dict[str, Any]:
    context = pick.context
    same = ("median_ms", "low_ms", "high_ms", "chosen_ms", "default_ms", "candidates",
            "rounds", "best_probability", "trials", "flags", "picked_at", "optimism")  # fmt: skip
    return {
        "label": label,
        "context_id": context.id,
        "device_model": context.model.slug,
        "problem": str(context.problem),
        "source": context.source.value,
        "triton": context.environment.triton,
        "config_id": pick.config.id,
        "config": pick.config,
        "gain": pick.default_ms / pick.median_ms if pick.default_ms else None,
        "tied": len(pick.tied) if pick.rounds else None,
        "space_size": pick.space_size or None,
    } | {name: getattr(pick, name) for name in same}
