"""Stacked bars: how the configs of each context ended."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten

# One colour and one hatch a state; what ran is plain, what failed is hatched.
STATE_LOOKS = {
    "ok": (palette.BLUE, ""),
    "pruned": (palette.SKY, ""),
    "illegal": ("#c9ced4", "...."),
    "out_of_resources": (palette.AMBER, "//"),
    "compile_error": (palette.ORANGE, "\\\\"),
    "compile_timeout": (palette.ORANGE, "xx"),
    "launch_error": (palette.PINK, "//"),
    "timeout": (palette.PINK, "xx"),
    "crashed": (palette.INK, "//"),
    "wrong_result": ("#8c2d04", "--"),
    "unstable": ("#8c2d04", ".."),
    "bad_timing": (palette.GREY, "\\\\"),
    "interrupted": (palette.RULE, "//"),
    "running": (palette.RULE, ""),
}


def states(frame: pd.DataFrame, title: str) -> Figure:
    """Draw the share of each state in each context.

    Columns: label, state, trials, share (of the context's trials).
    """
    labels = list(dict.fromkeys(frame["label"]))
    wide = frame.pivot_table(index="label", columns="state", values="share", aggfunc="sum")
    wide = wide.reindex(labels).fillna(0.0)
    order = [name for name in STATE_LOOKS if name in wide.columns]
    order += [name for name in wide.columns if name not in order]
    figure, (axes,) = canvas(title, 1.5 + 0.3 * len(labels))
    start = pd.Series(0.0, index=wide.index)
    for state in order:
        colour, hatch = STATE_LOOKS.get(state, (palette.GREY, ""))
        axes.barh(
            range(len(labels)), wide[state], left=start, height=0.7, color=colour, hatch=hatch,
            edgecolor=palette.PAPER, linewidth=0.8, label=state.replace("_", " "),
        )  # fmt: skip
        start = start + wide[state]
    axes.set_yticks(range(len(labels)), [shorten(label, 44) for label in labels])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("share of the trials")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return figure
