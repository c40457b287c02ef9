"""NVIDIA and AMD GPUs: identity, timing by device events or graphs, clocks and power."""

from autotune_lab.devices.cuda.plugin import open  # noqa: A004 - the plug-in contract's name
from autotune_lab.devices.cuda.presence import CAPABILITIES, missing

__all__ = ["CAPABILITIES", "missing", "open"]
