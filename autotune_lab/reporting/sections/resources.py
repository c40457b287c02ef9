"""What speed costs: shared memory and registers of all configs that ran."""

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import scatter
from autotune_lab.reporting.sections.base import Figure, Section, Table, no_data

ORDER = 85
TITLE = "Resources"


def build(data: ReportData) -> Section | None:
    """Set each config's efficiency against the resources that the compiler gave it."""
    frame = efficiencies(data)
    known = frame[frame["shared_bytes"].notna() | frame["registers"].notna()]
    if known.empty:
        why = "the store holds no compiler output (shared memory, registers) of a config that ran"
        return no_data(TITLE, why)
    spilled = known[known["spill_bytes"].fillna(0) > 0]
    return Section(
        TITLE, _finding(known, spilled), [_figure(known)], [_table(known)], _caveats(frame, known)
    )


def efficiencies(data: ReportData) -> pd.DataFrame:
    """Return the eligible configs with their efficiency (best of the context over their time)."""
    ran = data.trials[data.trials["is_eligible"] & data.trials["time_ms"].notna()]
    best = ran.groupby("context_id")["time_ms"].transform("min")
    columns = ["device_model", "problem", "context_id", "config_id", "time_ms", "shared_bytes",
               "registers", "spill_bytes", "threads"]  # fmt: skip
    return ran[columns].assign(efficiency=best / ran["time_ms"]).reset_index(drop=True)


def _finding(known: pd.DataFrame, spilled: pd.DataFrame) -> str:
    count = wording.count(len(known), "config")
    if spilled.empty:
        return f"None of {count} that ran spills registers."
    best = wording.percent(float(spilled["efficiency"].max()))
    share = wording.percent(len(spilled) / len(known))
    return f"{share} of {count} that ran spill registers; the best of those reaches {best}."


def _figure(known: pd.DataFrame) -> Figure:
    best = known.loc[known.groupby("context_id")["efficiency"].idxmax()]
    words = [
        f"{wording.sizes(best[name].min())} to {wording.sizes(best[name].max())} of shared memory"
        for name in ("shared_bytes",)
        if best[name].notna().any()
    ]
    words += (
        [f"{best['registers'].min()} to {best['registers'].max()} registers a thread"]
        if best["registers"].notna().any()
        else []
    )
    return Figure(
        name="resources",
        title="Efficiency of all configs that ran, against what they take of the device",
        frame=known,
        draw=scatter.resources,
        alt=f"Two clouds of points. The fastest configs take {wording.listing(words)}.",
        caption="Efficiency is the best time of the context over the config’s time. A cloud whose "
        "upper edge falls to the right means that the resource is paid for in occupancy.",
    )


def _table(known: pd.DataFrame) -> Table:
    grouped = known.groupby("device_model")
    frame = grouped.agg(
        configs=("config_id", "size"),
        largest_shared_bytes=("shared_bytes", "max"),
        largest_registers=("registers", "max"),
        spilling=("spill_bytes", lambda column: int((column.fillna(0) > 0).sum())),
    ).reset_index()
    rows = [
        [
            row["device_model"],
            f"{row['configs']:,}",
            wording.sizes(row["largest_shared_bytes"]),
            wording.count(row["largest_registers"])
            if not wording.is_missing(row["largest_registers"])
            else wording.MISSING,
            f"{row['spilling']:,}",
        ]
        for row in rows_of(frame)
    ]
    columns = ["Device model", "#Configs that ran", "#Most shared memory", "#Most registers",
               "#Spilling"]  # fmt: skip
    return Table("resources_by_device", "", columns, rows, frame)


def _caveats(frame: pd.DataFrame, known: pd.DataFrame) -> list[str]:
    left = len(frame) - len(known)
    return [f"Resources of {wording.count(left, 'config')} are not known."] if left else []
