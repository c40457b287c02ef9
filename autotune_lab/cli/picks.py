"""Picks as rows: what won, by how much it can be believed, and what it replaces."""

from collections.abc import Iterable, Sequence
from typing import Any

from autotune_lab.cli.output import show, show_json
from autotune_lab.records import Pick


def show_picks(picks: Sequence[Pick], *, as_json: bool, empty: str) -> None:
    """Print picks: every field as JSON, or what decides about trusting them as a table."""
    if as_json:
        show_json(pick_rows(picks))
        return
    rows = [
        {
            "kernel": pick.context.kernel.name,
            "problem": str(pick.context.problem),
            "device": pick.context.model.slug,
            "config": str(pick.config),
            "ms": _with_interval(pick),
            "default ms": pick.default_ms,
            "tied": len(pick.tied) - 1,
            "seen": f"{pick.trials}/{pick.space_size}",
            "notes": [pick.context.source.value] * bool(pick.context.source.notice)
            + list(pick.flags),
        }
        for pick in picks
    ]
    show(rows, as_json=False, empty=empty)


def _with_interval(pick: Pick) -> str:
    if pick.low_ms is None or pick.high_ms is None:
        return f"{pick.median_ms:.4g}"
    return f"{pick.median_ms:.4g} [{pick.low_ms:.4g}, {pick.high_ms:.4g}]"


def pick_rows(picks: Iterable[Pick]) -> list[dict[str, Any]]:
    """One row for each pick: what won, by how much it can be believed, and what it replaces."""
    return [
        {
            "kernel": pick.context.kernel.name,
            "problem": str(pick.context.problem),
            "device_model": pick.context.model.slug,
            "source": pick.context.source.value,
            "config": str(pick.config),
            "median_ms": pick.median_ms,
            "low_ms": pick.low_ms,
            "high_ms": pick.high_ms,
            "default_ms": pick.default_ms,
            "optimism": pick.optimism,
            "tied": len(pick.tied),
            "trials": pick.trials,
            "space_size": pick.space_size,
            "flags": list(pick.flags),
        }
        for pick in picks
    ]
