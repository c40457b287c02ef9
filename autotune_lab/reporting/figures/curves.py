"""Curves: the best so far over trials, the loss over the size of a portfolio."""

import math

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten


def convergence(frame: pd.DataFrame, title: str) -> Figure:
    """Draw the best so far over the trials, a panel per device model, a line per problem.

    Columns: panel, line, context_id, kind (``"measured"``, else an expectation), trials (from 1),
    efficiency (best of the context over best so far).
    """
    panels = list(dict.fromkeys(frame["panel"]))
    lines = list(dict.fromkeys(frame["line"]))
    rows = math.ceil(len(panels) / 2)
    figure, axes = canvas(
        title, 0.9 + 2.0 * rows, rows=rows, columns=min(2, len(panels)), sharey=True
    )
    for axis, panel in zip(axes, panels, strict=False):
        mine = frame[frame["panel"] == panel]
        for (line, _, kind), part in mine.groupby(["line", "context_id", "kind"], sort=False):
            colour = palette.series(lines.index(str(line)))
            if kind == "measured":
                axis.step(part["trials"], part["efficiency"], where="post", color=colour)
            else:
                axis.plot(part["trials"], part["efficiency"], "--", color=colour, linewidth=1)
        axis.set_xscale("log")
        axis.set_title(shorten(panel, 40))
        axis.grid(axis="y")
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_xlabel("trials so far")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    axes[0].set_ylabel("relative to the best")
    if len(lines) > 1:
        handles = [axes[0].plot([], [], color=palette.series(i))[0] for i in range(len(lines))]
        figure.legend(
            handles, [shorten(line, 34) for line in lines], loc="outside lower center",
            ncols=2 if max(map(len, lines)) > 24 else 3,
        )  # fmt: skip
    return figure


def portfolio(frame: pd.DataFrame, title: str) -> Figure:
    """Draw worst and mean loss over the number of configs.

    Columns: size, worst_loss, mean_loss.
    """
    figure, (axes,) = canvas(title, 2.6)
    looks = (("worst_loss", "worst context", palette.ORANGE, "o"),
             ("mean_loss", "mean of the contexts", palette.BLUE, "s"))  # fmt: skip
    for column, name, colour, marker in looks:
        axes.plot(frame["size"], frame[column], color=colour, marker=marker, label=name)
        for size, loss in zip(frame["size"], frame[column], strict=True):
            above = column == "worst_loss"
            axes.annotate(
                f"{100 * loss:.0f}%" if loss >= 0.1 or loss == 0 else f"{100 * loss:.1f}%",
                (size, loss), (0, 7 if above else -14), textcoords="offset points",
                ha="center", color=colour, fontsize=8.5,
            )  # fmt: skip
    axes.set_xticks(frame["size"])
    axes.set_xlim(0.6, frame["size"].max() + 0.4)
    top = max(0.1, float(frame["worst_loss"].max()))
    axes.set_ylim(-0.16 * top, 1.2 * top)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("configs in the set (k)")
    axes.set_ylabel("loss")
    axes.grid(axis="y")
    axes.legend(loc="upper right")
    return figure
