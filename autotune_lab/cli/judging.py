"""Verdicts on winners and the cells behind them, as rows."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from autotune_lab.analysis import overfitting
from autotune_lab.reporting.data import gather, rows_of
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store

CELL = (
    "axis", "kernel", "group", "tuned_on", "run_on", "config", "state", "efficiency", "loss",
    "noise_floor", "is_real", "is_default", "reason",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """One row a verdict, the worst first, and one row a cell of the matrices it rests on."""

    verdicts: list[dict[str, Any]]
    cells: list[dict[str, Any]]


def judge(store: Store, query: Query, *, along: str = "") -> Judged:
    """Judge every winner that matches, along one axis (``"device"``, ...) or along all.

    Raises:
        StoreError: the store can't be read.
    """
    data = gather(store, query)
    verdicts: list[pd.DataFrame] = []
    cells: list[pd.DataFrame] = []
    for kernel in data.kernels:
        mine = data.of(kernel)
        chosen = mine.transfers
        if along and len(chosen):
            chosen = chosen[chosen["axis"] == along]
        for number, frame in chosen.groupby("matrix", sort=False):
            verdicts.append(overfitting.verdicts(mine.matrices[int(str(number))], frame))
            cells.append(frame[list(CELL)])
    rows = [row for frame in verdicts for row in rows_of(frame)]
    order = list(overfitting.Judgement)
    rows.sort(key=lambda row: (order.index(row["judgement"]), -_known(row["worst_loss"])))
    return Judged(rows, [row for frame in cells for row in rows_of(frame)])


def told(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a verdict that a person reads."""
    loss, half = verdict["worst_loss"], (verdict["worst_high"] - verdict["worst_low"]) / 2
    worst = "" if pd.isna(loss) else f"{loss:.1%}" + ("" if pd.isna(half) else f" ±{half:.1%}")
    return {
        "kernel": verdict["kernel"],
        "along": verdict["axis"],
        "tuned on": verdict["tuned_on"],
        "verdict": verdict["judgement"],
        "worst loss": worst,
        "elsewhere": str(verdict["sentence"]).partition("; ")[2],
        "cause": verdict["cause"],
    }


def _known(loss: float) -> float:
    return -1.0 if pd.isna(loss) else loss
