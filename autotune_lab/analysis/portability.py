"""Names the configs that do well everywhere, and says whether they would do so somewhere new.

Loss is 1 - efficiency, so a config that does not run loses 1. A config that was not measured in
some context can't be named the best.
"""

import enum
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autotune_lab.analysis.matrix import DOES_NOT_RUN, NOT_MEASURED, Floats, TimeMatrix
from autotune_lab.spaces.config import Config


class Rule(enum.StrEnum):
    """What makes one config the portable one."""

    PERFORMANCE_PORTABILITY = "performance_portability"
    MINIMAX = "minimax"


class Over(enum.StrEnum):
    """What is held out to see whether a portable choice generalises."""

    DEVICE = "device"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Portable:
    """The one config to use everywhere, by some rule.

    Attributes:
        performance_portability: harmonic mean of its efficiencies.
        worst_loss, mean_loss: 1 - efficiency over the contexts.
        worst_on: index of the column where it loses most.
    """

    rule: Rule
    config: Config
    performance_portability: float
    worst_loss: float
    mean_loss: float
    worst_on: int


def performance_portability(efficiency: Floats) -> Floats:
    """Return the harmonic mean of each row: 0 where one is 0, NaN where one is unknown and none 0.

    Pennycook, Sewall, Lee: A metric for performance portability (2016): |H| / sum of 1/e over the
    platforms H if the application runs on all of them, else 0; e is application efficiency, the
    best observed time over the application's.

    Args:
        efficiency: (configs, contexts) in 0..1, NaN where unknown.
    """
    if efficiency.shape[1] == 0:
        return np.full(len(efficiency), np.nan)
    with np.errstate(divide="ignore"):
        portability: Floats = efficiency.shape[1] / (1 / efficiency).sum(axis=1)
    portability[(efficiency == 0).any(axis=1)] = 0.0
    return portability


def newest_contexts(matrix: TimeMatrix) -> TimeMatrix:
    """Keep one context for each device model and problem: the one measured last.

    Efficiencies under two environments of one device are never averaged. Contexts in which nothing
    ran are left out, for there is nothing to lose.
    """
    newest: dict[tuple[str, str], int] = {}
    for index, column in enumerate(matrix.columns):
        key = (column.device_model_id, column.problem)
        rival = newest.get(key)
        is_newer = rival is None or column.finished_at >= matrix.columns[rival].finished_at
        if matrix.winners[index] >= 0 and is_newer:
            newest[key] = index
    return matrix.only(sorted(newest.values()))


def scores(matrix: TimeMatrix) -> pd.DataFrame:
    """Return one row for each config: how it does over all contexts of the matrix.

    Returns:
        columns: config_id, config, contexts, known (measured or failing), fails, coverage (known
        over contexts), performance_portability, worst_loss, mean_loss, worst_efficiency. Where
        coverage is below 1 the last three are withheld (NaN), and so is the portability unless the
        config fails somewhere.
    """
    efficiency = matrix.efficiency
    known = (matrix.states != NOT_MEASURED).sum(axis=1)
    worst = efficiency.min(axis=1, initial=1.0)
    contexts = efficiency.shape[1]
    return pd.DataFrame(
        {
            "config_id": [config.id for config in matrix.configs],
            "config": list(matrix.configs),
            "contexts": contexts,
            "known": known,
            "fails": (matrix.states == DOES_NOT_RUN).sum(axis=1),
            "coverage": known / max(contexts, 1),
            "performance_portability": performance_portability(efficiency),
            "worst_loss": 1 - worst,
            "mean_loss": 1 - efficiency.sum(axis=1) / max(contexts, 1),
            "worst_efficiency": worst,
        }
    )


def portable(matrix: TimeMatrix, rule: Rule) -> Portable | None:
    """Return the best config by a rule; None if no config was measured in every context.

    Ties of one rule are broken by the other, then by the order of the configs.
    """
    row = _choose(matrix.efficiency, rule)
    if row is None:
        return None
    efficiency = matrix.efficiency[row]
    return Portable(
        rule=rule,
        config=matrix.configs[row],
        performance_portability=float(performance_portability(efficiency[None])[0]),
        worst_loss=float(1 - efficiency.min()),
        mean_loss=float(1 - efficiency.mean()),
        worst_on=int(efficiency.argmin()),
    )


def leave_one_out(
    matrix: TimeMatrix, over: Over, rule: Rule = Rule.PERFORMANCE_PORTABILITY
) -> pd.DataFrame:
    """Choose the portable config without one device or problem, then judge it there.

    Returns:
        columns: left_out, contexts (how many were held out), config_id, config, kept_worst_loss
        (where it was chosen), held_out_worst_loss, held_out_mean_loss, fails (held-out contexts
        where it does not run), known (held-out contexts with a time or failure). Losses are NaN
        where one is not known. Left out are values whose removal leaves nothing to choose by.
    """
    names = np.array([_held_out(matrix, index, over) for index in range(len(matrix.columns))])
    rows = []
    for name in dict.fromkeys(names):
        held = names == name
        row = _choose(matrix.efficiency[:, ~held], rule)
        if row is None or held.all():
            continue
        there = matrix.efficiency[row, held]
        rows.append(
            {
                "left_out": _held_out_label(matrix, int(held.argmax()), over),
                "contexts": int(held.sum()),
                "config_id": matrix.configs[row].id,
                "config": matrix.configs[row],
                "kept_worst_loss": 1 - matrix.efficiency[row, ~held].min(),
                "held_out_worst_loss": 1 - there.min(),
                "held_out_mean_loss": 1 - there.mean(),
                "fails": int((matrix.states[row, held] == DOES_NOT_RUN).sum()),
                "known": int((~np.isnan(there)).sum()),
            }
        )
    return pd.DataFrame(rows, columns=LEFT_OUT_COLUMNS)


LEFT_OUT_COLUMNS = [
    "left_out", "contexts", "config_id", "config", "kept_worst_loss", "held_out_worst_loss",
    "held_out_mean_loss", "fails", "known",
]  # fmt: skip


def _choose(efficiency: Floats, rule: Rule) -> int | None:
    """Return the row that is best by a rule among those known everywhere."""
    complete: NDArray[np.int64] = np.flatnonzero(~np.isnan(efficiency).any(axis=1))
    if not len(complete) or not efficiency.shape[1]:
        return None
    known = efficiency[complete]
    by_mean, by_worst = performance_portability(known), known.min(axis=1)
    first, second = (
        (by_mean, by_worst) if rule is Rule.PERFORMANCE_PORTABILITY else (by_worst, by_mean)
    )
    return int(complete[np.lexsort((complete, -second, -first))[0]])


def _held_out(matrix: TimeMatrix, index: int, over: Over) -> str:
    column = matrix.columns[index]
    return column.device_model_id if over is Over.DEVICE else column.problem


def _held_out_label(matrix: TimeMatrix, index: int, over: Over) -> str:
    column = matrix.columns[index]
    return column.device_model if over is Over.DEVICE else column.problem
