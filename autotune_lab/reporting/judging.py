"""Judges a winner by its transfer cells: overfit, portable or undecided, and why in plain words.

A cell's loss is known up to its noise floor, so it is held against the bound as an interval.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autotune_lab.analysis.matrix import DOES_NOT_RUN, NOT_MEASURED, STATE_NAMES
from autotune_lab.reporting import wording

LOSS_BOUND = 0.05
# Held to be the noise of a cell whose own is unknown; single passes were off by 13% on an H200.
ASSUMED_FLOOR = 0.05


class Ruling(enum.StrEnum):
    """Whether a winner may be used elsewhere."""

    OVERFIT = "OVERFIT"
    PORTABLE = "PORTABLE"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A ruling, and the sentence that gives its grounds."""

    ruling: Ruling
    words: str


def judge(cells: Sequence[dict[str, Any]], *, bound: float = LOSS_BOUND) -> Judgement:
    """Judge one winner by its cells away from home, against a bound on its loss.

    OVERFIT: it fails somewhere, or its loss exceeds the bound by more than noise. PORTABLE: its
    loss is below the bound by more than noise, everywhere. UNDECIDED: neither is shown.

    Args:
        cells: entries of the transfer matrix, each on another place than home.
        bound: the loss that is still called portable.
    """
    fails = [cell for cell in cells if cell["state"] == STATE_NAMES[DOES_NOT_RUN]]
    unknown = [cell for cell in cells if cell["state"] == STATE_NAMES[NOT_MEASURED]]
    known = [cell for cell in cells if cell not in fails and cell not in unknown]
    over = [cell for cell in known if cell["loss"] - _floor(cell) > bound]
    unsure = [cell for cell in known if abs(cell["loss"] - bound) <= _floor(cell)]
    ruling = Ruling.PORTABLE
    if fails or over:
        ruling = Ruling.OVERFIT
    elif unsure or unknown or not known:
        ruling = Ruling.UNDECIDED
    return Judgement(ruling, _words(known, fails, unknown, len(cells), bound))


def _floor(cell: dict[str, Any]) -> float:
    floor = cell["noise_floor"]
    return ASSUMED_FLOOR if wording.is_missing(floor) else float(floor)


def _words(
    known: list[dict[str, Any]],
    fails: list[dict[str, Any]],
    unknown: list[dict[str, Any]],
    total: int,
    bound: float,
) -> str:
    """Write ``loses at most 5% on 4 of 6, 39% on A, does not run on B, not measured on C``."""
    parts = []
    near = [cell for cell in known if cell["loss"] <= bound]
    far = sorted((c for c in known if c["loss"] > bound), key=lambda cell: -cell["loss"])
    if near:
        most = max(cell["loss"] for cell in near)
        much = f"at most {wording.percent(most)}" if most > 0 else "nothing"
        parts.append(f"loses {much} on {len(near)} of {total}")
    if far:
        losses = [f"{wording.percent(cell['loss'])} on {cell['run_on']}" for cell in far]
        parts.append(("" if near else "loses ") + wording.listing(losses, most=4))
    if fails:
        parts.append(f"does not run on {wording.listing(_places(fails), most=4)}")
    if unknown:
        parts.append(f"not measured on {wording.listing(_places(unknown), most=4)}")
    return ", ".join(parts)


def _places(cells: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(cell["run_on"] for cell in cells))
