"""Turns the table of a one-parameter sweep into a figure with its sentence, and writes both."""

from pathlib import Path

import pandas as pd

from autotune_lab.exporting.base import write_atomically
from autotune_lab.reporting import tables, wording
from autotune_lab.reporting.content import Figure
from autotune_lab.reporting.data import rows_of
from autotune_lab.reporting.figures import sweeps as drawing
from autotune_lab.reporting.figures.canvas import render


def sweep_figure(table: pd.DataFrame, *, held: str, over: str = "") -> Figure:
    """Return the figure of a sweep.

    Args:
        table: columns of ``analysis.sweeps``.
        held: what the other parameters were, and why.
        over: the problem field that was swept beside the parameter.
    """
    parameter = str(table["parameter"].iloc[0])
    labels = table["over"].map(lambda value: f"{over}={wording.value(value)}" if over else "all")
    frame = table.assign(shown=table["value"].map(wording.value), label=labels)
    missing = int(frame["efficiency"].isna().sum())
    return Figure(
        name=f"sweep_{parameter}",
        title=finding(table, over=over),
        frame=frame,
        draw=drawing.sweep,
        alt=f"Efficiency over {wording.count(frame['shown'].nunique(), 'value')} of {parameter}, "
        f"{wording.count(frame['label'].nunique(), 'line')}; {missing} points do not run.",
        caption="Efficiency is the best time of the line over the value’s; bars are 95% intervals "
        f"of the median, crosses do not run. The grey value is the held config’s. Held: {held}.",
    )


def finding(table: pd.DataFrame, *, over: str = "") -> str:
    """Say in a sentence what the parameter does."""
    parameter = str(table["parameter"].iloc[0])
    timed = table[table["efficiency"].notna()]
    if timed.empty:
        return f"No value of {parameter} runs"
    best = rows_of(timed[timed["is_best"]])
    worst = 1 - float(timed["efficiency"].min())
    if len(best) > 1:
        won = [
            f"{wording.value(row['value'])} at {over}={wording.value(row['over'])}" for row in best
        ]
        return f"Best {parameter}: {wording.listing(won)}; the wrong one loses up to {worst:.0%}"
    tied = int(timed["is_tied"].sum()) - 1
    rivals = f", {tied} can’t be told apart from it" if tied else ""
    value = wording.value(best[0]["value"])
    return f"{parameter}={value} is the fastest{rivals}; the slowest value loses {worst:.0%}"


def write_sweep(figure: Figure, directory: Path) -> Path:
    """Write the picture as SVG and PNG and its data as CSV and JSON; return the SVG's path.

    Raises:
        ExportError: the folder can't be written.
    """
    svg, png = render(figure.draw, figure.frame, figure.title)
    path = directory / f"{figure.name}.svg"
    write_atomically(path, svg)
    write_atomically(path.with_suffix(".png"), png)
    write_atomically(path.with_suffix(".csv"), tables.to_csv(figure.frame))
    write_atomically(path.with_suffix(".json"), tables.to_json(figure.frame))
    return path
