"""The figure of a one-parameter sweep: efficiency over its values, with intervals."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten

MOST_LABELS = 9


def sweep(frame: pd.DataFrame, title: str) -> Figure:
    """Draw one line for each series; bars are 95% intervals, crosses are what does not run.

    Columns: shown (the value as text, in order), efficiency (NaN where it does not run),
    efficiency_low, efficiency_high (NaN where unknown), label, is_held.
    """
    labels = list(dict.fromkeys(frame["label"]))
    values = list(dict.fromkeys(frame["shown"]))
    figure, (axes,) = canvas(title, 3.4)
    drawn = frame.assign(place=frame["shown"].map(values.index))
    timed = drawn[drawn["efficiency"].notna()]
    colours = {label: palette.series(index) for index, label in enumerate(labels)}
    sns.lineplot(
        data=timed, x="place", y="efficiency", hue="label", style="label", hue_order=labels,
        style_order=labels, palette=colours, markers=True, dashes=False, errorbar=None, ax=axes,
        legend=False,
    )  # fmt: skip
    for label, line in timed.groupby("label", sort=False):
        low = (line["efficiency"] - line["efficiency_low"]).clip(lower=0).fillna(0.0)
        high = (line["efficiency_high"] - line["efficiency"]).clip(lower=0).fillna(0.0)
        axes.errorbar(
            line["place"], line["efficiency"], yerr=[low, high], fmt="none",
            ecolor=colours[str(label)], elinewidth=1.4, capsize=3,
        )  # fmt: skip
    fails = drawn[drawn["efficiency"].isna()]
    axes.plot(fails["place"], [0.0] * len(fails), "x", color=palette.INK, markersize=6)
    for place in sorted(set(drawn.loc[drawn["is_held"], "place"])):
        axes.axvline(place, color=palette.RULE, linewidth=6, zorder=0)
    crowded = max(map(len, values)) * len(values) > 80
    axes.set_xticks(
        range(len(values)), [shorten(value, 14) for value in values], rotation=90 if crowded else 0
    )
    axes.set_xlim(-0.4, len(values) - 0.6)
    axes.set_ylim(bottom=min(0.0, float(timed["efficiency"].min() or 0.0)) - 0.04)
    axes.set_xlabel(str(frame["parameter"].iloc[0]))
    axes.set_ylabel("efficiency")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(axis="y")
    if len(labels) > 1:
        handles = [
            axes.plot([], [], color=colours[label], marker=palette.marker(0), markersize=5)[0]
            for label in labels[:MOST_LABELS]
        ]
        names = [shorten(label, 34) for label in labels[:MOST_LABELS]]
        figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure
