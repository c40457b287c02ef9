"""Where winners lie under the ceilings of their device, and so what holds them back."""

from typing import Any

import pandas as pd

from autotune_lab.analysis import roofline
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import scatter
from autotune_lab.reporting.sections.base import Cell, Figure, Section, Table, Tone, no_data

ORDER = 80
TITLE = "Roofline"
OVER_ROOF = 1.1


def build(data: ReportData) -> Section | None:
    """Place each winner by the traffic and arithmetic that its problem needs at the least."""
    parts = [roofline.placements(matrix, data.contexts) for matrix in data.matrices]
    known = [part for part in parts if len(part)]
    if not known:
        return None
    frame = pd.concat(known, ignore_index=True)
    frame.insert(0, "label", frame["context_id"].map(data.labels))
    judged = frame[frame["verdict"] != "unknown"]
    if judged.empty:
        why = (
            "the ceilings of the device (copy, matmul, launch) or the kernel’s work are not stored"
        )
        return no_data(TITLE, why)
    drawn = frame[frame["intensity"].notna() & (frame["copy_gbs"].notna() | _peaks(frame))]
    drawn = drawn[drawn["tflops"] > 0]
    return Section(
        title=TITLE,
        finding=_finding(judged),
        figures=[_figure(drawn)] if len(drawn) else [],
        tables=[_table(frame)],
        caveats=_caveats(frame),
    )


def _peaks(frame: pd.DataFrame) -> "pd.Series[bool]":
    return frame["matmul_tflops"].notna()


def _finding(judged: pd.DataFrame) -> str:
    counts = judged["verdict"].value_counts()
    kinds = [f"{number} {kind}" for kind, number in counts.items()]
    shares = judged[["bandwidth_share", "tflops_share"]].max(axis=1)
    told = f"Of {wording.count(len(judged), 'winner')}, {wording.listing(kinds)}"
    if shares.notna().sum() == 0:
        return f"{told}."
    low = min(
        (row for row in rows_of(judged.assign(share=shares)) if row["share"] == row["share"]),
        key=lambda row: row["share"],
    )
    return f"{told}; farthest below its roof is {low['label']}, at {wording.percent(low['share'])}."


def _figure(drawn: pd.DataFrame) -> Figure:
    best = drawn[["bandwidth_share", "tflops_share"]].max(axis=1)
    return Figure(
        name="roofline",
        title="Achieved arithmetic rate of each winner, under the roofs measured on its device",
        frame=drawn,
        draw=scatter.roofline,
        alt=f"Log-log plot of {wording.count(len(drawn), 'winner')} under slanted (memory) and "
        f"flat (arithmetic) roofs; they reach {wording.percent(float(best.min()))} to "
        f"{wording.percent(float(best.max()))} of their roof.",
        caption="Intensity is the least arithmetic over the least traffic of the problem. Roofs "
        "are measured: a copy gives the slope, a matmul of the dtype the flat part.",
    )


def _table(frame: pd.DataFrame) -> Table:
    rows: list[list[Cell | str]] = [
        [
            row["label"],
            Cell(row["verdict"], Tone.MISSING)
            if row["verdict"] == "unknown"
            else Cell(row["verdict"], Tone.STRONG),
            row["reason"],
            wording.digits(row["time_ms"]),
            *(wording.digits(row[name], 3) for name in ("intensity", "bandwidth_gbs", "tflops")),
            *(_share(row[name]) for name in ("bandwidth_share", "tflops_share")),
        ]
        for row in rows_of(frame)
    ]
    columns = ["Context", "Bound by", "Because", "#Time, ms", "#FLOP/B", "#GB/s", "#TFLOP/s",
               "#Of copy", "#Of matmul"]  # fmt: skip
    return Table("placements", "Rates are for the least work of the problem.", columns, rows, frame)


def _share(share: Any) -> Cell | str:
    if wording.is_missing(share):
        return wording.MISSING
    return Cell(wording.percent(share), Tone.DOUBT if share > OVER_ROOF else Tone.PLAIN)


def _caveats(frame: pd.DataFrame) -> list[str]:
    over = int((frame[["bandwidth_share", "tflops_share"]].max(axis=1) > OVER_ROOF).sum())
    if not over:
        return []
    count = wording.count(over, "winner lies", "winners lie")
    return [f"{count} above a roof: the data fits the cache, or the time is not a measurement."]
