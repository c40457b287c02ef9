"""Judges each winner: did it overfit the device or problem it was tuned on, and by which parameter?

A loss is an interval, loss plus or minus the noise floor where it was seen. ``overfit`` means that
somewhere the whole interval is above the bound, ``portable`` that everywhere it is below, and what
is not known is ``undecided``, never good.
"""

import enum
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import DOES_NOT_RUN, MEASURED, STATE_NAMES, TimeMatrix

LOSS_BOUND = 0.05
# A change counts as the cause if it wins back this share of the loss.
_RECOVERED = 0.5


class Judgement(enum.StrEnum):
    """How far a winner can be trusted away from home."""

    OVERFIT = "overfit"
    PORTABLE = "portable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one winner along one axis, and one row of the frame of them.

    Attributes:
        elsewhere, known, fails: other contexts; those with a time or a failure; failures.
        worst_loss, worst_low, worst_high: the largest loss and its interval; 1 for a failure, NaN
            if none is known.
        worst_on: label of the context with it.
        bound: of what counts as a loss.
        cause: what explains the worst loss, where the data shows it; else ``""``.
        sentence: the verdict in plain words.
    """

    axis: str
    kernel: str
    code_hash: str
    group: str
    tuned_on: str
    tuned_context_id: str
    judgement: str
    elsewhere: int
    known: int
    fails: int
    worst_loss: float
    worst_low: float
    worst_high: float
    worst_on: str
    bound: float
    cause: str
    sentence: str


def verdicts(
    matrix: TimeMatrix, entries: pd.DataFrame, *, bound: float = LOSS_BOUND
) -> pd.DataFrame:
    """Judge every winner of a kernel's transfer matrices, one row a ``Verdict``.

    Args:
        matrix: of the kernel.
        entries: from ``transfer.entries``, with noise floors.
        bound: loss that is still acceptable.
    """
    cells = entries[~entries["is_default"]]
    keys = ["axis", "kernel", "code_hash", "group", "tuned_on", "tuned_context_id"]
    away = cells[cells["tuned_context_id"] != cells["run_context_id"]]
    found = [
        _verdict(matrix, dict(zip(keys, key, strict=True)), frame, bound)
        for key, frame in away.groupby(keys, sort=False)
    ]
    names = [field.name for field in fields(Verdict)]
    rows = [[getattr(verdict, name) for name in names] for verdict in found]
    return pd.DataFrame(rows, columns=names)


def cause(matrix: TimeMatrix, row: int, column: int) -> str:
    """Explain a config's loss in a context by what the data shows; ``""`` if it shows nothing.

    That is why it does not run, or the one parameter whose change alone wins back at least half
    of the loss.
    """
    if matrix.states[row, column] == DOES_NOT_RUN:
        return matrix.reasons.get((row, column), "")
    loss = 1 - matrix.efficiency[row, column]
    changes = [
        (float(matrix.efficiency[other, column]), -other, name)
        for other, name in _one_change(matrix, row)
        if matrix.states[other, column] == MEASURED
    ]
    if not changes or not loss > 0:
        return ""
    best, other, name = max(changes)
    recovered = 1 - (1 - best) / loss
    if recovered < _RECOVERED:
        return ""
    before, after = matrix.configs[row][name], matrix.configs[-other][name]
    return f"{name} {before} -> {after} wins back {recovered:.0%} of the loss"


def _one_change(matrix: TimeMatrix, row: int) -> list[tuple[int, str]]:
    """Return the rows that differ from one in a single parameter, with its name."""
    config = matrix.configs[row]
    names = list(config)
    differs = np.zeros((len(matrix.configs), len(names)), dtype=bool)
    for place, name in enumerate(names):
        value = config[name]
        differs[:, place] = [
            other.get(name) != value or type(other.get(name)) is not type(value)
            for other in matrix.configs
        ]
    same_keys = np.array([len(other) == len(names) for other in matrix.configs])
    rows = np.flatnonzero((differs.sum(axis=1) == 1) & same_keys)
    return [(int(other), names[int(differs[other].argmax())]) for other in rows]


def _verdict(
    matrix: TimeMatrix, identity: dict[str, Any], cells: pd.DataFrame, bound: float
) -> Verdict:
    known = cells[cells["loss"].notna()]
    failing = known["state"] == STATE_NAMES[DOES_NOT_RUN]
    floor = known["noise_floor"].mask(failing, 0.0)
    low, high = known["loss"] - floor, known["loss"] + floor
    if (low > bound).any():
        judgement = Judgement.OVERFIT
    elif len(known) == len(cells) and (high <= bound).all():
        judgement = Judgement.PORTABLE
    else:
        judgement = Judgement.UNDECIDED
    worst: dict[str, Any] = {"loss": np.nan, "low": np.nan, "high": np.nan, "on": "", "cause": ""}
    if len(known):
        at = known["loss"].to_numpy().argmax()
        place = {column.context_id: index for index, column in enumerate(matrix.columns)}
        run = place[str(known["run_context_id"].iloc[at])]
        row = int(matrix.winners[place[identity["tuned_context_id"]]])
        worst = {
            "loss": float(known["loss"].iloc[at]),
            "low": max(0.0, float(low.iloc[at])),
            "high": min(1.0, float(high.iloc[at])),
            "on": str(known["run_on"].iloc[at]),
            "cause": cause(matrix, row, run) if known["loss"].iloc[at] > bound else "",
        }
    return Verdict(
        **identity,
        judgement=judgement.value,
        elsewhere=len(cells),
        known=len(known),
        fails=int(failing.sum()),
        worst_loss=worst["loss"],
        worst_low=worst["low"],
        worst_high=worst["high"],
        worst_on=worst["on"],
        bound=bound,
        cause=worst["cause"],
        sentence=_sentence(identity["tuned_on"], cells, bound),
    )


def _sentence(tuned_on: str, cells: pd.DataFrame, bound: float) -> str:
    """Say it as a person would: where it holds, where it loses, where it does not run."""
    failing = cells[cells["state"] == STATE_NAMES[DOES_NOT_RUN]]
    measured = cells[cells["state"] == STATE_NAMES[MEASURED]]
    losing = measured[measured["loss"] > bound].sort_values("loss", ascending=False)
    holding = len(measured) - len(losing)
    parts = []
    if holding:
        parts.append(f"loses at most {bound:.0%} on {holding} of {len(cells)} others")
    parts += [f"{row['loss']:.0%} on {row['run_on']}" for row in losing.to_dict("records")[:3]]
    if len(losing) > 3:
        parts.append(f"more than {bound:.0%} on {len(losing) - 3} more")
    if len(failing):
        parts.append(f"does not run on {', '.join(failing['run_on'])}")
    if unknown := len(cells) - len(measured) - len(failing):
        parts.append(f"not measured on {unknown}")
    if parts and not holding and len(losing):
        parts[0] = f"loses {parts[0]}"
    return f"tuned on {tuned_on}; {', '.join(parts)}"
