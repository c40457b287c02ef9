"""Heat maps whose cells are read as text first and as colour second."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten

MEASURED, FAILS, MISSING = "measured", "fails", "missing"
FLOOR = 0.5  # an efficiency at or below it has the darkest colour


def efficiencies(frame: pd.DataFrame, title: str) -> Figure:
    """Draw a matrix of efficiencies, a panel per ``panel``.

    Columns: panel, row, column, efficiency (NaN unless measured), status (``measured``, ``fails``
    or ``missing``), text (what the cell says).
    """
    panels = list(dict.fromkeys(frame["panel"]))
    rows = list(dict.fromkeys(frame["row"]))
    columns = list(dict.fromkeys(frame["column"]))
    across = 1 if len(columns) > 4 or len(panels) == 1 else 2
    down = -(-len(panels) // across)
    height = down * (0.75 + max(0.36 * len(rows), 0.7)) + 0.5
    figure, axes = canvas(title, height, rows=down, columns=across, sharex=True, sharey=True)
    for place, axis in enumerate(axes):
        if place >= len(panels):
            axis.set_visible(False)
            continue
        part = frame[frame["panel"] == panels[place]]
        _panel(axis, part, rows, columns)
        axis.set_title(shorten(panels[place], 60 // across))
        if place % across == 0:
            axis.set_ylabel("tuned on")
    figure.supxlabel("run on", fontsize=9.5)
    return figure


def _panel(axes: Axes, part: pd.DataFrame, rows: list[str], columns: list[str]) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    size = 9 if len(columns) <= 8 else 7 if len(columns) <= 14 else 5.5
    for cell in part.itertuples():
        x, y = columns.index(str(cell.column)), rows.index(str(cell.row))
        colour, ink, hatch = _look(str(cell.status), float(cell.efficiency))  # type: ignore[arg-type]
        axes.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=palette.PAPER,
                linewidth=1.5, hatch=hatch,
            )
        )  # fmt: skip
        axes.text(x, y, str(cell.text), ha="center", va="center", color=ink, fontsize=size)
        if str(cell.row) == str(cell.column):
            axes.add_patch(
                Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, fill=False, edgecolor=palette.INK)
            )
    turn = max(map(len, columns)) * len(columns) > 70
    axes.set_xticks(
        range(len(columns)), [shorten(name, 26) for name in columns],
        rotation=35 if turn else 0, ha="right" if turn else "center",
        rotation_mode="anchor" if turn else None,
    )  # fmt: skip
    axes.set_yticks(range(len(rows)), [shorten(name, 34) for name in rows])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _look(status: str, efficiency: float) -> tuple[object, str, str]:
    if status == FAILS:
        return palette.FAILS, palette.PAPER, ""
    if status == MISSING or not np.isfinite(efficiency):
        return palette.MISSING, palette.MUTED, "////"
    place = float(np.clip((efficiency - FLOOR) / (1 - FLOOR), 0, 1))
    return palette.EFFICIENCY(place), palette.PAPER if place < 0.42 else palette.INK, ""
