"""Heat maps whose cells are read as text first and as colour second."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten

MEASURED, FAILS = "measured", "does not run"
FLOOR = 0.5  # an efficiency at or below it has the darkest colour
FLOOR_ROW = "noise floor"


def efficiencies(frame: pd.DataFrame, title: str) -> Figure:
    """Draw a matrix of efficiencies, a panel per ``panel``, with each column's noise floor.

    Columns: panel, row, column, efficiency (NaN unless measured), status (``"measured"``,
    ``"does not run"`` or ``"not measured"``), text (what the cell says), noise_floor.
    """
    panels = list(dict.fromkeys(frame["panel"]))
    rows = [*dict.fromkeys(frame["row"]), FLOOR_ROW]
    columns = list(dict.fromkeys(frame["column"]))
    turn = max(map(len, columns)) * len(columns) > 75
    height = len(panels) * (0.42 + 0.3 * len(rows)) + (1.2 if turn else 0.5)
    figure, axes = canvas(title, height, rows=len(panels), sharex=True, sharey=True)
    for panel, axis in zip(panels, axes, strict=True):
        _panel(axis, frame[frame["panel"] == panel], rows, columns)
        axis.set_title(shorten(panel, 70))
        axis.set_xticks(
            range(len(columns)), [shorten(name, 26) for name in columns],
            rotation=35 if turn else 0, ha="right" if turn else "center",
            rotation_mode="anchor" if turn else None,
        )  # fmt: skip
        axis.set_yticks(range(len(rows)), [shorten(name, 34) for name in rows])
    figure.supylabel("tuned on", fontsize=9.5)
    figure.supxlabel("run on", fontsize=9.5)
    return figure


def _panel(axes: Axes, part: pd.DataFrame, rows: list[str], columns: list[str]) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    size = 8.5 if len(columns) <= 8 else 7 if len(columns) <= 14 else 5
    cells: list[dict[str, Any]] = part.to_dict("records")  # type: ignore[assignment]
    for cell in cells:
        x, y = columns.index(cell["column"]), rows.index(cell["row"])
        colour, ink, hatch = _look(cell["status"], cell["efficiency"])
        axes.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=palette.PAPER,
                linewidth=1.5, hatch=hatch,
            )
        )  # fmt: skip
        text = cell["text"] if len(columns) <= 7 else SHORT.get(cell["status"], cell["text"])
        axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=size)
        if cell["row"] == cell["column"]:
            axes.add_patch(
                Rectangle((x - 0.46, y - 0.42), 0.92, 0.84, fill=False, edgecolor=palette.INK)
            )
    floors = part.groupby("column")["noise_floor"].max().dropna()
    for column, floor in floors.items():
        axes.text(
            columns.index(str(column)), len(rows) - 1, f"±{100 * floor:.1f}%",
            ha="center", va="center", fontsize=size, color=palette.MUTED,
        )  # fmt: skip
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


SHORT = {FAILS: "✕", "not measured": "?"}


def _look(status: str, efficiency: float) -> tuple[Any, str, str]:
    if status == FAILS:
        return palette.FAILS, palette.PAPER, ""
    if status != MEASURED or not np.isfinite(efficiency):
        return palette.MISSING, palette.MUTED, "////"
    place = float(np.clip((efficiency - FLOOR) / (1 - FLOOR), 0, 1))
    return palette.EFFICIENCY(place), palette.PAPER if place < 0.25 else palette.INK, ""
