"""Optuna's TPE on a table, as its users would write it: repeats and invalid configs are free."""

import warnings

import numpy as np
import optuna
from tables import Table

PENALTY = 10.0  # a failure is told as this times the worst time of the table
MOST_ASKS = 6  # asks for each evaluation before a run that only repeats itself is ended


def optuna_run(variant: str, table: Table, seed: int, budget: int) -> list[int]:
    """Return the rows in the order in which multivariate TPE came to them.

    ``variant`` says how failures and invalid configs are told: ``"penalised"``, as a large value,
    or ``"failed"``, as failed trials.
    """
    if variant not in ("penalised", "failed"):
        raise ValueError(f"optuna:{variant} is unknown; use optuna:penalised or optuna:failed")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    sampler = optuna.samplers.TPESampler(multivariate=True, seed=seed)
    study = optuna.create_study(sampler=sampler)
    ranges = {
        parameter.name: optuna.distributions.IntDistribution(0, len(parameter.values) - 1)
        for parameter in table.space.parameters
    }
    worst = PENALTY * float(np.nanmax(table.times_ms))
    rows: dict[int, None] = {}
    for _ in range(MOST_ASKS * budget):
        trial = study.ask(ranges)
        row = _row(table, trial.params)
        time_ms = float("nan") if row is None else float(table.times_ms[row])
        if np.isfinite(time_ms):
            study.tell(trial, time_ms)
        elif variant == "failed":
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, worst)
        if row is not None:
            rows[row] = None
        if len(rows) == budget:
            break
    return list(rows)


def _row(table: Table, codes: dict[str, int]) -> int | None:
    config = {p.name: p.values[codes[p.name]] for p in table.space.parameters}
    try:
        return table.space.index(config)
    except KeyError:
        return None
