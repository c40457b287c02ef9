"""Dot plots, one line per context: gains, promises against fresh rounds, costs of one step."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten


def gains(frame: pd.DataFrame, title: str) -> Figure:
    """Draw how many times faster each winner is than the default.

    Columns: label, gain (default time over winner time).
    """
    figure, (axes,) = canvas(title, _height(len(frame)))
    places = np.arange(len(frame))
    axes.hlines(places, 1.0, frame["gain"], color=palette.BLUE, linewidth=2)
    axes.plot(frame["gain"], places, "o", color=palette.BLUE, markersize=7)
    for place, gain in zip(places, frame["gain"], strict=True):
        if np.isfinite(gain):
            axes.annotate(f"{gain:.2f}×", (gain, place), (7, -3), textcoords="offset points")
    axes.axvline(1.0, color=palette.MUTED, linewidth=1)
    _lines(axes, frame["label"])
    axes.set_xlabel("time of the default over time of the winner (1 = no gain)")
    axes.margins(x=0.12)
    return figure


def optimism(frame: pd.DataFrame, title: str) -> Figure:
    """Draw each winner's time when it was chosen against its time in fresh rounds.

    Columns: label, chosen (chosen time over fresh median), low, high (the fresh median's 95%
    interval over the fresh median).
    """
    figure, (axes,) = canvas(title, _height(len(frame)))
    places = np.arange(len(frame))
    axes.axvline(1.0, color=palette.MUTED, linewidth=1, zorder=0)
    axes.hlines(places, frame["chosen"], 1.0, color=palette.RULE, linewidth=2, zorder=1)
    axes.hlines(places, frame["low"], frame["high"], color=palette.BLUE, linewidth=5, alpha=0.55)
    axes.plot(
        np.ones(len(frame)), places, "o", color=palette.BLUE, label="fresh rounds, 95% interval"
    )
    axes.plot(
        frame["chosen"], places, "D", color=palette.ORANGE, markerfacecolor=palette.PAPER,
        markeredgewidth=1.8, label="when it was chosen",
    )  # fmt: skip
    _lines(axes, frame["label"])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * (x - 1):+.3g}%"))
    axes.set_xlabel("time relative to the median over fresh rounds")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    axes.margins(x=0.08)
    return figure


def sharpness(frame: pd.DataFrame, title: str) -> Figure:
    """Draw the loss of each neighbour of each winner, with the median, a line per winner.

    Columns: label, loss (1 where it does not run), state.
    """
    labels = list(dict.fromkeys(frame["label"]))
    figure, (axes,) = canvas(title, _height(len(labels)))
    fails = frame["state"] == "does not run"
    places = frame["label"].map({label: place for place, label in enumerate(labels)})
    # Marks of one line are spread a little, so that equal losses do not hide one another.
    heights = places + frame.groupby("label").cumcount() % 5 * 0.09 - 0.18
    for chosen, marker, colour in ((~fails, "o", palette.BLUE), (fails, "x", palette.INK)):
        axes.plot(
            frame["loss"][chosen], heights[chosen], marker, color=colour, markersize=5.5, alpha=0.8
        )
    medians = frame.groupby("label")["loss"].median().reindex(labels)
    middles = np.arange(len(labels))
    axes.vlines(medians, middles - 0.36, middles + 0.36, color=palette.ORANGE, linewidth=2.5)
    _lines(axes, pd.Series(labels))
    axes.set_xlim(left=-0.02)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("loss against the winner")
    return figure


def _height(lines: int) -> float:
    return 1.1 + 0.3 * max(1, lines)


def _lines(axes: Axes, labels: pd.Series) -> None:
    axes.set_yticks(range(len(labels)), [shorten(label, 44) for label in labels])
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
