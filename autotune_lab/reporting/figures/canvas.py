"""Makes the canvas that figures draw on, and renders them; no pyplot, so nothing global leaks."""

import io
import textwrap
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from autotune_lab.reporting import palette

WIDTH_IN = 7.2
SCREEN_DPI = 100
PNG_DPI = 200
TITLE_COLUMNS = 88

Draw = Callable[[pd.DataFrame, str], Figure]


def canvas(
    title: str, height_in: float, *, rows: int = 1, columns: int = 1, **layout: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a sentence as its title, and its axes row by row.

    It is 720 pixels wide on a screen; ``height_in`` is that of the axes, titles come on top.
    """
    lines = textwrap.wrap(title, TITLE_COLUMNS) or [""]
    figure = Figure(
        figsize=(WIDTH_IN, height_in + 0.22 * len(lines)), dpi=SCREEN_DPI, layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **layout)
    figure.suptitle(
        "\n".join(lines), x=0.01, ha="left", fontsize=10.5, fontweight="bold", color=palette.INK
    )
    return figure, list(axes.flat)


def shorten(text: str, columns: int) -> str:
    """Cut a label in the middle, where the least is told."""
    if len(text) <= columns:
        return text
    head = (columns - 1) * 2 // 3
    return f"{text[:head]}…{text[-(columns - 1 - head) :]}"


def render(draw: Draw, frame: pd.DataFrame, title: str) -> tuple[bytes, bytes]:
    """Draw a frame and return it as SVG and as PNG; equal frames give equal bytes."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(palette.STYLE)
        figure = draw(frame, title)
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.set_layout_engine("none")  # laid out once; the second picture keeps the places
        figure.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()
