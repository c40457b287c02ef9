"""Figures about parameters: what each value costs, and which values the winners have."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten

ACROSS = 3
MOST_LABELS = 12


def effects(frame: pd.DataFrame, title: str) -> Figure:
    """Draw the loss over the values of each parameter, a panel a parameter, a line a context.

    Columns: parameter, shown (the value as text), loss, label, device_model.
    """
    names = list(dict.fromkeys(frame["parameter"]))
    devices = sorted(frame["device_model"].unique())
    down = -(-len(names) // ACROSS)
    figure, axes = canvas(
        title, 0.7 + 1.85 * down, rows=down, columns=min(ACROSS, len(names)), sharey=True
    )
    for axis, name in zip(axes, names, strict=False):
        part = frame[frame["parameter"] == name]
        values = list(dict.fromkeys(part["shown"]))
        for (device, _), line in part.groupby(["device_model", "label"], sort=False):
            index = devices.index(str(device))
            axis.plot(
                [values.index(value) for value in line["shown"]], line["loss"],
                color=palette.series(index), marker=palette.marker(index), markersize=4,
                linewidth=1, alpha=0.8,
            )  # fmt: skip
        crowded = max(map(len, values)) * len(values) > 26
        axis.set_xticks(
            range(len(values)), [shorten(value, 12) for value in values],
            rotation=90 if crowded else 0,
        )  # fmt: skip
        axis.set_xlim(-0.4, len(values) - 0.6)
        axis.set_title(shorten(name, 26))
        axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axis.grid(axis="y")
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis in axes[:: min(ACROSS, len(names))]:
        axis.set_ylabel("loss")
    handles = [
        axes[0].plot([], [], color=palette.series(i), marker=palette.marker(i), markersize=5)[0]
        for i in range(len(devices))
    ]
    names_shown = [shorten(device, 34) for device in devices]
    figure.legend(handles, names_shown, loc="outside lower center", ncols=3)
    return figure


def winning_values(frame: pd.DataFrame, title: str) -> Figure:
    """Draw the winners' values as a table, coloured where they differ from the most frequent.

    Columns: label, parameter, text, is_modal.
    """
    labels = list(dict.fromkeys(frame["label"]))
    names = list(dict.fromkeys(frame["parameter"]))
    figure, (axes,) = canvas(title, 0.8 + 0.28 * len(labels))
    size = 9 if len(names) <= MOST_LABELS else 6.5
    for label, name, text, is_modal in zip(
        frame["label"], frame["parameter"], frame["text"], frame["is_modal"], strict=True
    ):
        x, y = names.index(name), labels.index(label)
        colour = "#eef1f4" if is_modal else palette.AMBER
        axes.add_patch(
            Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=palette.PAPER)
        )
        axes.text(
            x, y, shorten(text, 10), ha="center", va="center", fontsize=size,
            fontweight="normal" if is_modal else "bold",
        )  # fmt: skip
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    turn = max(map(len, names)) * len(names) > 60
    axes.xaxis.tick_top()
    axes.set_xticks(
        range(len(names)), [shorten(name, 20) for name in names], rotation=30 if turn else 0,
        ha="left" if turn else "center",
    )  # fmt: skip
    axes.set_yticks(range(len(labels)), [shorten(label, 44) for label in labels])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure
