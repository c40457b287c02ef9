"""Answers which parameters matter, and which values move from one device or problem to the next."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import MEASURED, TimeMatrix

EFFECT_COLUMNS = [
    "context_id", "device_model", "problem", "parameter", "value", "configs", "runs", "fails",
    "best_ms", "median_ms", "loss",
]  # fmt: skip
SHIFT_COLUMNS = [
    "parameter", "values", "contexts", "distinct", "modal_value", "modal_share", "is_stable",
]  # fmt: skip


def effects(matrix: TimeMatrix) -> pd.DataFrame:
    """Return what each value of each parameter is worth in each context, the others left free.

    Returns:
        columns: ``EFFECT_COLUMNS``. ``best_ms`` is over the configs with that value: what tuning
        the rest can still reach; ``loss`` is 1 - best of the context / ``best_ms``. Values keep
        the order in which they were met; parameters of one value are left out.
    """
    rows: list[dict[str, Any]] = []
    for name in _names(matrix):
        given = [config.get(name) for config in matrix.configs]
        codes, values = _factorize(given)
        if len(values) < 2:
            continue
        for index, column in enumerate(matrix.columns):
            times_ms, states = matrix.times_ms[:, index], matrix.states[:, index]
            best_ms = np.nanmin(times_ms) if (states == MEASURED).any() else np.nan
            for code, value in enumerate(values):
                chosen = codes == code
                ran = times_ms[chosen & (states == MEASURED)]
                here_ms = ran.min() if len(ran) else np.nan
                rows.append(
                    {
                        "context_id": column.context_id,
                        "device_model": column.device_model,
                        "problem": column.problem,
                        "parameter": name,
                        "value": value,
                        "configs": int(chosen.sum()),
                        "runs": len(ran),
                        "fails": int((states[chosen] == 1).sum()),
                        "best_ms": here_ms,
                        "median_ms": float(np.median(ran)) if len(ran) else np.nan,
                        "loss": 1 - best_ms / here_ms,
                    }
                )
    return as_declared(rows, EFFECT_COLUMNS, "value")


def winning_values(matrix: TimeMatrix) -> pd.DataFrame:
    """Return the value of each parameter in each context's winner.

    Returns:
        index: parameter; one column a context id; contexts without a winner are left out.
    """
    won = {
        column.context_id: dict(matrix.configs[winner])
        for column, winner in zip(matrix.columns, matrix.winners, strict=True)
        if winner >= 0
    }
    table = pd.DataFrame(won, dtype=object).reindex(_names(matrix))
    return table.rename_axis("parameter")


def shifts(matrix: TimeMatrix) -> pd.DataFrame:
    """Say of each parameter whether the winners of all contexts agree on its value.

    Returns:
        columns: ``SHIFT_COLUMNS``; ``values`` are those of the winners in the order of the
        contexts, ``modal_share`` is the share of winners that have the most frequent one.
    """
    rows = []
    for name, values in winning_values(matrix).iterrows():
        listed = list(values)
        codes, distinct = _factorize(listed)
        counts = np.bincount(codes)
        rows.append(
            {
                "parameter": name,
                "values": tuple(listed),
                "contexts": len(listed),
                "distinct": len(distinct),
                "modal_value": distinct[int(counts.argmax())],
                "modal_share": counts.max() / len(listed),
                "is_stable": len(distinct) == 1,
            }
        )
    return as_declared(rows, SHIFT_COLUMNS, "modal_value")


def as_declared(rows: list[dict[str, Any]], columns: list[str], *names: str) -> pd.DataFrame:
    """Return rows as a frame whose named columns keep each value's own type: 128 beside None."""
    frame = pd.DataFrame(rows, columns=columns)
    for name in names:
        frame[name] = pd.Series([row[name] for row in rows], dtype=object)
    return frame


def codes_of(values: Sequence[Any]) -> Mapping[Any, int]:
    """Return the index of each value, by its ``key_of``."""
    return {key_of(value): code for code, value in enumerate(values)}


def key_of(value: Any) -> Any:
    """Tell True from 1, which Python does not."""
    return type(value) is bool, value


def _names(matrix: TimeMatrix) -> list[str]:
    return list(dict.fromkeys(name for config in matrix.configs for name in config))


def _factorize(values: Sequence[Any]) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[Any]]:
    """Return a code for each value and the distinct values; numbers sorted, others as met."""
    distinct = list({key_of(value): value for value in values}.values())
    if all(type(value) in (int, float) for value in distinct):
        distinct.sort()
    codes = codes_of(distinct)
    return np.array([codes[key_of(value)] for value in values], dtype=np.int64), distinct
