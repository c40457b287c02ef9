"""Scatter plots: efficiency against resources, winners under their roofs."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from autotune_lab.reporting import palette
from autotune_lab.reporting.figures.canvas import canvas, shorten


def resources(frame: pd.DataFrame, title: str) -> Figure:
    """Draw efficiency against shared memory, registers and occupancy, a colour per device model.

    Columns: device_model, efficiency, shared_bytes, registers, spill_bytes, occupancy.
    """
    figure, (left, middle, right) = canvas(title, 3.0, columns=3, sharey=True)
    panels = ((left, "shared_bytes", 1024), (middle, "registers", 1), (right, "occupancy", 1))
    devices = sorted(frame["device_model"].unique())
    size = 14 if len(frame) < 2000 else 5
    for index, device in enumerate(devices):
        part = frame[frame["device_model"] == device]
        spills = (part["spill_bytes"].fillna(0) > 0).to_numpy(dtype=bool)
        for axes, column, scale in panels:
            x = part[column].astype("float64") / scale
            look: dict[str, Any] = {
                "color": palette.series(index),
                "s": size,
                "alpha": 0.55,
                "rasterized": True,
            }
            axes.scatter(x[~spills], part["efficiency"][~spills], linewidths=0, **look)
            axes.scatter(x[spills], part["efficiency"][spills], marker="x", linewidths=0.8, **look)
    left.set_xlabel("shared memory, KiB")
    middle.set_xlabel("registers a thread (× spills)")
    right.set_xlabel("occupancy, theoretical")
    right.set_xlim(0, 1.03)
    right.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    left.set_ylabel("efficiency")
    for axes in (left, middle, right):
        _share(axes)
    names = [shorten(device, 34) for device in devices]
    handles = [
        left.scatter([], [], color=palette.series(i), s=30, linewidths=0)
        for i in range(len(devices))
    ]
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure


def _share(axes: Axes) -> None:
    axes.set_ylim(0, 1.04)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y")


def roofline(frame: pd.DataFrame, title: str) -> Figure:
    """Draw achieved rates over intensity, a roof and a colour per device model, log-log.

    Columns: label, device_model, intensity (FLOP/B), tflops, copy_gbs, matmul_tflops.
    """
    figure, (axes,) = canvas(title, 4.0)
    low = float(frame["intensity"].min()) / 3
    high = max(float(frame["intensity"].max()) * 3, low * 100)
    x = np.geomspace(low, high, 200)
    for index, (device, part) in enumerate(frame.groupby("device_model", sort=True)):
        colour = palette.series(index)
        slope = part["copy_gbs"].max() * x / 1e3
        for peak in sorted(part["matmul_tflops"].unique()):  # one roof a dtype
            axes.plot(x, np.fmin(slope, np.full_like(x, peak)), color=colour, linewidth=1.2)
        axes.plot(
            part["intensity"], part["tflops"], palette.marker(index), color=colour, markersize=7,
            markeredgecolor=palette.PAPER, label=shorten(str(device), 34),
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("arithmetic intensity, FLOP/B")
    axes.set_ylabel("achieved, TFLOP/s")
    axes.grid()
    axes.legend(loc="lower right")
    return figure
