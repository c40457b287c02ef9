"""Step curves: how the best so far approached the best of all."""

import math

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten


def convergence(frame: pd.DataFrame, title: str) -> Figure:
    """Draw the best so far over the trials, a panel per device model, a line per problem.

    Columns: panel, line, trial (from 1), efficiency (best of the context over best so far).
    """
    panels = list(dict.fromkeys(frame["panel"]))
    lines = list(dict.fromkeys(frame["line"]))
    rows = math.ceil(len(panels) / 2)
    figure, axes = canvas(
        title, 0.9 + 2.0 * rows, rows=rows, columns=min(2, len(panels)), sharey=True
    )
    for axis, panel in zip(axes, panels, strict=False):
        for line, part in frame[frame["panel"] == panel].groupby("line", sort=False):
            index = lines.index(str(line))
            axis.step(
                part["trial"], part["efficiency"], where="post", color=palette.series(index),
                linestyle=("-", "--", ":", "-.")[index // len(palette.SERIES) % 4],
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_title(shorten(panel, 40))
        axis.grid(axis="y")
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_xlabel("trials so far")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    axes[0].set_ylabel("best so far, relative to the best")
    if len(lines) > 1:
        handles = [axes[0].plot([], [], color=palette.series(i))[0] for i in range(len(lines))]
        figure.legend(
            handles, [shorten(line, 34) for line in lines], loc="outside lower center",
            ncols=2 if max(map(len, lines)) > 24 else 3,
        )  # fmt: skip
    return figure
