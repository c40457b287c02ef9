"""Answers how much each parameter matters in a context, by Optuna's evaluators.

Optuna is imported by the functions that need it: nothing else of the analysis does.
"""

import enum
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from autotune_lab.analysis.matrix import MEASURED, TimeMatrix
from autotune_lab.analysis.parameters import codes_of, key_of
from autotune_lab.records import SpaceSnapshot

if TYPE_CHECKING:
    import optuna

FEWEST_CONFIGS = 20


class Evaluator(enum.StrEnum):
    """Which of Optuna's importance evaluators is asked."""

    FANOVA = "fanova"
    MEAN_DECREASE_IMPURITY = "mdi"
    PED_ANOVA = "pedanova"


def importance(
    matrix: TimeMatrix,
    column: int,
    space: SpaceSnapshot,
    evaluator: Evaluator = Evaluator.FANOVA,
    *,
    seed: int = 0,
) -> dict[str, float]:
    """Return how much of the variation of log time each parameter explains, most first.

    Computed by one of Optuna's evaluators on a study rebuilt in memory. Failures are left out: they
    have no time. Empty where under 20 configs ran or nothing varies.

    Args:
        matrix: of the kernel.
        column: of the context.
        space: of the context.
        evaluator: which one.
        seed: of the forest.
    """
    study = as_study(matrix, column, space)
    completed = study.get_trials(deepcopy=False)
    values = {trial.value for trial in completed}
    if len(completed) < FEWEST_CONFIGS or len(values) < 2:
        return {}
    import optuna.importance as optuna_importance

    kinds: dict[Evaluator, Callable[[], Any]] = {
        Evaluator.FANOVA: lambda: optuna_importance.FanovaImportanceEvaluator(seed=seed),
        Evaluator.MEAN_DECREASE_IMPURITY: lambda: (
            optuna_importance.MeanDecreaseImpurityImportanceEvaluator(seed=seed)
        ),
        Evaluator.PED_ANOVA: optuna_importance.PedAnovaImportanceEvaluator,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna marks PED-ANOVA as experimental
        found = optuna_importance.get_param_importances(study, evaluator=kinds[evaluator]())
    return {name: float(share) for name, share in found.items()}


def as_study(matrix: TimeMatrix, column: int, space: SpaceSnapshot) -> "optuna.Study":
    """Return a context as an Optuna study in memory; the value of a trial is the log of its time.

    Parameters are given as the index of their value, because tiles are powers of two. Any of
    Optuna's tools (visualisation, dashboard) can take the study.
    """
    import optuna

    levels = {name: values for name, values in space.parameters.items() if len(values) > 1}
    distributions = {
        name: _distribution(name, len(values), space) for name, values in levels.items()
    }
    codes = {name: codes_of(values) for name, values in levels.items()}
    with _quiet():
        study = optuna.create_study()
    ran = np.flatnonzero(matrix.states[:, column] == MEASURED)
    complete = [
        row
        for row in ran
        if all(key_of(matrix.configs[row].get(name)) in codes[name] for name in levels)
    ]
    study.add_trials(
        [
            optuna.trial.create_trial(
                params={name: codes[name][key_of(matrix.configs[row][name])] for name in levels},
                distributions=distributions,
                value=float(np.log(matrix.times_ms[row, column])),
            )
            for row in complete
        ]
    )
    return study


def _distribution(name: str, count: int, space: SpaceSnapshot) -> Any:
    import optuna

    if name in space.ordered:
        return optuna.distributions.IntDistribution(0, count - 1)
    return optuna.distributions.CategoricalDistribution(tuple(range(count)))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna from logging that a study was made."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
