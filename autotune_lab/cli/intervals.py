"""Intervals as people read them and as JSON."""

from typing import Any

from autotune_lab.measuring.statistics import Interval


def told(found: Interval | None, otherwise: str = "") -> str:
    """Return ``0.1234 [0.123, 0.124]``, or what is said where there is none."""
    if found is None:
        return otherwise
    if found.low is None or found.high is None:
        return f"{found.median:.4g}"
    return f"{found.median:.4g} [{found.low:.4g}, {found.high:.4g}]"


def plain(found: Interval | None) -> dict[str, Any] | None:
    """Return an interval as JSON has it."""
    if found is None:
        return None
    return {"median": found.median, "low": found.low, "high": found.high}
