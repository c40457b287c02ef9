"""Counts what a launch makes the device run, as the profiler sees it."""

from collections.abc import Callable
from typing import Any

import torch


def count_launches(launch: Callable[[], Any]) -> int | None:
    """Return how many kernels, copies and fills ran; None where the profiler sees no device.

    It is launched once before, so that nothing is compiled or loaded under the profiler.
    """
    launch()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        launch()
        torch.cuda.synchronize()
    on_device = [event for event in profiler.events() or () if _ran(event)]
    return len(on_device) or None


def _ran(event: Any) -> bool:
    """Tell what ran on the device from what happened on the host, or only names a stretch."""
    is_named = bool(getattr(event, "is_user_annotation", False))
    return str(event.device_type).endswith(".CUDA") and not is_named
