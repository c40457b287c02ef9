"""What an export needs to know beyond its winners: how they do elsewhere, and how to choose."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from autotune_lab.analysis import dispatch
from autotune_lab.analysis.distance import octaves
from autotune_lab.analysis.matrix import DOES_NOT_RUN, Floats, TimeMatrix, matrices
from autotune_lab.analysis.portfolio import portfolios, smallest
from autotune_lab.records import DecisionRule, Pick
from autotune_lab.spaces.config import Config
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store


@dataclass(frozen=True, slots=True)
class Evidence:
    """What trials say about winners; the keys are those of ``exporting.base.Options``."""

    reaches: Mapping[str, float] = field(default_factory=dict)
    portfolios: Mapping[str, Sequence[Config]] = field(default_factory=dict)
    rules: Mapping[tuple[str, str], DecisionRule] = field(default_factory=dict)


def of_store(store: Store, query: Query, picks: Sequence[Pick], *, loss: float = 0.05) -> Evidence:
    """Return the evidence for picks from the trials beside them.

    Raises:
        StoreError: the store can't be read.
    """
    trials = frames.trials(store, query)
    found = matrices(trials, frames.measurements(store, query), picks) if len(trials) else []
    return of_matrices(found, picks, loss=loss)


def of_matrices(
    found: Iterable[TimeMatrix], picks: Sequence[Pick], *, loss: float = 0.05
) -> Evidence:
    """Return the evidence for picks from one matrix a kernel, code and protocol.

    Args:
        found: their columns hold the picks' contexts; others are left out.
        picks: one of a context.
        loss: that a portfolio and a rule may have, 1 - efficiency.
    """
    by_context = {pick.context.id: pick for pick in picks}
    reaches: dict[str, float] = {}
    few: dict[str, Sequence[Config]] = {}
    rules: dict[tuple[str, str], DecisionRule] = {}
    for whole in found:
        known = [i for i, column in enumerate(whole.columns) if column.context_id in by_context]
        if not known:
            continue
        matrix = whole.only(known)
        mine = [by_context[column.context_id] for column in matrix.columns]
        kernel_id = mine[0].context.kernel.id
        if portfolio := portfolios(matrix):
            few[kernel_id] = (smallest(portfolio, loss) or portfolio[-1]).configs
        for model_id in sorted({pick.context.model.id for pick in mine}):
            columns = _newest(matrix, mine, model_id)
            part, own = matrix.only(columns), [mine[column] for column in columns]
            problems = [dict(pick.context.problem) for pick in own]
            default = own[0].default_config
            row = -1 if default is None else part.row(default.id)
            rules[kernel_id, model_id] = dispatch.rule(part, problems, loss=loss, default=row)
            reaches |= _reaches(part, own)
    return Evidence(reaches, few, rules)


def _newest(matrix: TimeMatrix, picks: Sequence[Pick], model_id: str) -> list[int]:
    """Return one column for each problem on a device: that of the newest software measured."""
    newest: dict[str, int] = {}
    for column, pick in enumerate(picks):
        if pick.context.model.id != model_id:
            continue
        held = newest.get(pick.context.problem.id)
        if held is None or matrix.columns[held].finished_at < matrix.columns[column].finished_at:
            newest[pick.context.problem.id] = column
    return sorted(newest.values())


def _reaches(matrix: TimeMatrix, picks: Sequence[Pick]) -> dict[str, float]:
    found = {}
    for column, pick in enumerate(picks):
        if pick.default_config is None or matrix.winners[column] < 0:
            continue
        default = matrix.row(pick.default_config.id)
        if default < 0:
            continue
        far = reach(
            matrix.times_ms,
            matrix.states == DOES_NOT_RUN,
            [octaves(pick.context.problem, other.context.problem) for other in picks],
            winner=int(matrix.winners[column]),
            default=default,
        )
        if far is not None:
            found[pick.context.id] = far
    return found


def reach(
    times_ms: Floats,
    fails: NDArray[np.bool_],
    distances: Sequence[float],
    *,
    winner: int,
    default: int,
    tolerance: float = 0.02,
) -> float | None:
    """Return up to how many octaves away a problem's winner was measured to be worth using.

    Args:
        times_ms: (configs, problems), NaN where not measured.
        fails: (configs, problems), the config does not run.
        distances: of each problem from the winner's own, in octaves.
        winner: row of the winner.
        default: row of the default config.
        tolerance: how much slower than the default still counts as no worse.

    Returns:
        The distance of the last problem before the first on which it was worse; 0 if it was worse
        on the nearest; None if it and the default were measured together on no other problem.
    """
    reached = None
    for column in np.argsort(np.asarray(distances), kind="stable"):
        distance = distances[column]
        if distance == 0 or math.isinf(distance):
            continue
        mine, its = times_ms[winner, column], times_ms[default, column]
        if fails[winner, column] and not math.isnan(its):
            return reached or 0.0
        if math.isnan(mine) or math.isnan(its):
            continue
        if mine > its * (1.0 + tolerance):
            return reached or 0.0
        reached = float(distance)
    return reached
