"""Says whether a winner sits on a needle or on a plateau: what one step away from it costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import MEASURED, NOT_MEASURED, STATE_NAMES, TimeMatrix
from autotune_lab.analysis.parameters import as_declared
from autotune_lab.records import SpaceSnapshot
from autotune_lab.spaces.config import Config


@dataclass(frozen=True, slots=True)
class Sharpness:
    """The neighbourhood of one winner.

    Attributes:
        loss: median loss of the neighbours that were tried, failures as 1: 0 is a plateau, 1 a
            needle. NaN if none was tried.
        worst_loss: of any neighbour that runs.
        neighbours, tried, fails: how many there are, were measured or failed, failed.
    """

    context_id: str
    config: Config
    loss: float
    worst_loss: float
    neighbours: int
    tried: int
    fails: int

    @property
    def verdict(self) -> str:
        """Say it in a word; the bounds are ours: 2% is about the noise, 20% is worth a warning."""
        if np.isnan(self.loss):
            return "unknown"
        return "plateau" if self.loss <= 0.02 else "slope" if self.loss <= 0.2 else "needle"


def neighbours(matrix: TimeMatrix, column: int, space: SpaceSnapshot) -> pd.DataFrame:
    """Return each one-step neighbour of a context's winner and what it costs.

    A step is the next value either way of an ordered parameter, or any other value of another one.
    A neighbour that was not tried may also be outside the space, for a constraint can forbid it.

    Args:
        matrix: of the kernel.
        column: of the context.
        space: of the context.

    Returns:
        columns: parameter, value_from, value_to, config, config_id, state, reason, loss (1 -
        efficiency; 1 where it does not run, NaN where it was not measured), time_ms. Empty if the
        context has no winner.
    """
    winner = int(matrix.winners[column])
    rows = []
    if winner >= 0:
        place = {config.id: row for row, config in enumerate(matrix.configs)}
        home = matrix.efficiency[winner, column]
        for parameter, before, after, config in _steps(matrix.configs[winner], space):
            row = place.get(config.id, -1)
            state = int(matrix.states[row, column]) if row >= 0 else NOT_MEASURED
            efficiency = matrix.efficiency[row, column] if row >= 0 else np.nan
            rows.append(
                {
                    "parameter": parameter,
                    "value_from": before,
                    "value_to": after,
                    "config": config,
                    "config_id": config.id,
                    "state": STATE_NAMES[state],
                    "reason": matrix.reasons.get((row, column), ""),
                    "loss": max(0.0, 1 - efficiency / home) if row >= 0 else np.nan,
                    "time_ms": matrix.times_ms[row, column] if row >= 0 else np.nan,
                }
            )
    return as_declared(rows, NEIGHBOUR_COLUMNS, "value_from", "value_to")


NEIGHBOUR_COLUMNS = [
    "parameter", "value_from", "value_to", "config", "config_id", "state", "reason", "loss",
    "time_ms",
]  # fmt: skip


def sharpness(matrix: TimeMatrix, column: int, table: pd.DataFrame) -> Sharpness | None:
    """Condense the neighbours of a context's winner; None if it has none.

    Args:
        matrix: of the kernel.
        column: of the context.
        table: from ``neighbours``.
    """
    winner = int(matrix.winners[column])
    if winner < 0:
        return None
    losses = table["loss"].dropna()
    running = table.loc[table["state"] == STATE_NAMES[MEASURED], "loss"].dropna()
    return Sharpness(
        context_id=matrix.columns[column].context_id,
        config=matrix.configs[winner],
        loss=float(losses.median()) if len(losses) else np.nan,
        worst_loss=float(running.max()) if len(running) else np.nan,
        neighbours=len(table),
        tried=len(losses),
        fails=len(losses) - len(running),
    )


def _steps(config: Config, space: SpaceSnapshot) -> Iterator[tuple[str, Any, Any, Config]]:
    """Yield parameter, old value, new value and the config with it."""
    for name, values in space.parameters.items():
        if name not in config or config[name] not in values:
            continue
        at = values.index(config[name])
        if name in space.ordered:
            near = [values[i] for i in (at - 1, at + 1) if 0 <= i < len(values)]
        else:
            near = [value for i, value in enumerate(values) if i != at]
        for value in near:
            yield name, config[name], value, Config({**config, name: value})
