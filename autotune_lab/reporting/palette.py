"""The report's one palette and drawing style: safe for colour-blind readers, and in grey print.

Hues are Okabe and Ito's (2008); an efficiency's colour says it by lightness too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.colors import LinearSegmentedColormap

INK = "#1b1f24"
MUTED = "#5c6570"
RULE = "#d5dae0"
PAPER = "#ffffff"

BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#009e73"
AMBER = "#e69f00"
SKY = "#56b4e9"
PINK = "#cc79a7"
YELLOW = "#f0e442"
GREY = "#8a939e"

SERIES: Sequence[str] = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, INK, GREY)
MARKERS: Sequence[str] = ("o", "s", "^", "D", "v", "P", "X", "*")

FAILS = "#3d3d3d"
MISSING = "#f3f4f6"

# Dark is bad: text in a cell is white below the middle, and the scale survives a grey printer.
EFFICIENCY = LinearSegmentedColormap.from_list(
    "efficiency", ["#7a2a00", "#c2571a", "#eda85f", "#f7ead3", "#dcecf5", "#8cc1e0"]
)

STYLE: Mapping[Any, Any] = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "autotune_lab",
    "text.parse_math": False,
}


def series(index: int) -> str:
    """Return the colour of the n-th series."""
    return SERIES[index % len(SERIES)]


def marker(index: int) -> str:
    """Return the marker of the n-th series, so that shape tells what colour may not."""
    return MARKERS[index % len(MARKERS)]
