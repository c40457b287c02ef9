"""What speed costs: shared memory, registers and occupancy of all configs that ran."""

import pandas as pd

from autotune_lab.analysis.occupancy import RESOURCES, occupancies, trade_offs
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import scatter
from autotune_lab.reporting.sections.base import Figure, Section, Table, no_data

ORDER = 85
TITLE = "Resources"
MOST_ROWS = 24
_NAMES = {"shared_bytes": "shared memory", "registers": "registers", "spill_bytes": "spills",
          "threads": "threads"}  # fmt: skip


def build(data: ReportData) -> Section | None:
    """Set each config's efficiency against the resources that the compiler gave it."""
    frame = efficiencies(data)
    known = frame[frame["shared_bytes"].notna() | frame["registers"].notna()]
    if known.empty:
        why = "the store holds no compiler output (shared memory, registers) of a config that ran"
        return no_data(TITLE, why)
    spilled = known[known["spill_bytes"].fillna(0) > 0]
    tables = [_table(known), *_trade_off_tables(data)]
    return Section(
        TITLE, _finding(known, spilled), [_figure(known)], tables, _caveats(frame, known)
    )


def efficiencies(data: ReportData) -> pd.DataFrame:
    """Return the eligible configs with efficiency (best of the context over time) and occupancy."""
    ran = data.trials[data.trials["is_eligible"] & data.trials["time_ms"].notna()]
    best = ran.groupby("context_id")["time_ms"].transform("min")
    columns = ["device_model", "problem", "context_id", "config_id", "time_ms", "shared_bytes",
               "registers", "spill_bytes", "threads"]  # fmt: skip
    models = dict(zip(data.contexts["context_id"], data.contexts["model"], strict=True))
    full = occupancies(ran, models)
    return (
        ran[columns]
        .assign(
            efficiency=best / ran["time_ms"],
            occupancy=full["occupancy"],
            limited_by=full["limited_by"],
        )
        .reset_index(drop=True)
    )


def _finding(known: pd.DataFrame, spilled: pd.DataFrame) -> str:
    count = wording.count(len(known), "config")
    full = _fullness(known)
    if spilled.empty:
        return f"None of {count} that ran spills registers{full}."
    best = wording.percent(float(spilled["efficiency"].max()))
    share = wording.percent(len(spilled) / len(known))
    return f"{share} of {count} that ran spill registers; the best of those reaches {best}{full}."


def _fullness(known: pd.DataFrame) -> str:
    """Say how full an SM is with the fastest configs: often far from it, which surprises."""
    best = known.loc[known.groupby("context_id")["efficiency"].idxmax(), "occupancy"].dropna()
    if best.empty:
        return ""
    low, high = (wording.percent(float(share)) for share in (best.min(), best.max()))
    span = low if low == high else f"{low} to {high}"
    return f"; the fastest configs could fill {span} of an SM’s warps"


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
        alt=f"Three clouds of points. The fastest configs take {wording.listing(words)}.",
        caption="Efficiency is the best time of the context over the config’s time. An upper edge "
        "that falls to the right means that the resource is paid for in occupancy. Occupancy is "
        "theoretical: the warps that an SM could hold with what the compiler used.",
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


def _trade_off_tables(data: ReportData) -> list[Table]:
    """Show the levels of each resource that no config with less of it beats."""
    frame = trade_offs(data.trials)
    if frame.empty:
        return []
    frame = frame.assign(label=frame["context_id"].map(data.labels))
    order = {name: place for place, name in enumerate(RESOURCES)}
    frontier = frame[frame["is_frontier"]]
    several = frontier.groupby(["context_id", "resource"])["level"].transform("size") > 1
    frontier = frontier[several].sort_values(
        ["label", "resource", "level"], key=lambda column: column.map(order)
        if column.name == "resource" else column, kind="stable",
    )  # fmt: skip
    if frontier.empty:
        return []
    rows = [
        [
            row["label"],
            _NAMES[row["resource"]],
            wording.sizes(row["level"])
            if row["resource"].endswith("_bytes")
            else wording.count(row["level"]),
            f"{row['configs']:,}",
            wording.digits(row["best_ms"]),
        ]
        for row in rows_of(frontier.head(MOST_ROWS))
    ]
    columns = ["Context", "Resource", "#Level", "#Configs", "#Best, ms"]
    caption = "Levels whose fastest config is beaten by none that takes less of the resource."
    left = max(0, len(frontier) - MOST_ROWS)
    return [Table("trade_offs", caption, columns, rows, frame, more=left)]


def _caveats(frame: pd.DataFrame, known: pd.DataFrame) -> list[str]:
    left = len(frame) - len(known)
    return [f"Resources of {wording.count(left, 'config')} are not known."] if left else []
