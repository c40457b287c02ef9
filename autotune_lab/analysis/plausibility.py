"""Flags contexts whose times can't be, or were not, measurements: what every report repeats.

Not every published table is a measurement: some were extrapolated from another GPU's, in some the
kernel did not run.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import MEASURED, Floats, TimeMatrix

BELOW_FLOOR = "below_physical_floor"
MULTIPLE = "multiple_of_another"
FLAT = "does_not_depend_on_config"

# A copy is no exact ceiling: reading alone is faster, and on 32 SMs of an H200 a softmax beat it by
# 18% (2026-12-01). Half as fast again is out of reach.
_ABOVE_COPY = 1.5
# No kernel is launched, run and ended within a microsecond.
SHORTEST_LAUNCH_MS = 1e-3
_FEWEST_CELLS = 20
_SUSPECT_SHARE = 0.02
_FLAT_RATIO = 1.1
_FLAT_CONFIGS = 100
_FLAT_BELOW_MS = 0.02
_OVER_SECOND = 5
_DISTINCT_SHARE = 0.5


def flags(matrix: TimeMatrix, known: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each suspicion.

    - ``below_physical_floor``: times shorter than the least traffic takes at 1.5 times the copy
      bandwidth measured there, or than a microsecond where that is unknown.
    - ``multiple_of_another``: at least 20 cells and 2% of those shared are one same multiple of
      another device's, to nine digits, five times as many as share any other ratio.
    - ``does_not_depend_on_config``: 95% of 100 or more configs take within 10% of one time below
      20 us, as if the kernel did nothing.

    Args:
        matrix: of one kernel.
        known: columns of ``store.frames.contexts``.

    Returns:
        columns: context_id, flag, cells (how many), detail (for a person).
    """
    rows = [*_below_floor(matrix, known), *_multiples(matrix), *_flat(matrix)]
    return pd.DataFrame(rows, columns=["context_id", "flag", "cells", "detail"])


def floor_ms(known: pd.DataFrame) -> dict[str, float]:
    """Return the shortest possible time of each context, by its least traffic; NaN if unknown."""
    bound = known["bytes"] / known["copy_gbs"] / 1e6 / _ABOVE_COPY
    return dict(zip(known["context_id"], bound.astype(float), strict=True))


Row = tuple[str, str, int, str]


def _below_floor(matrix: TimeMatrix, known: pd.DataFrame) -> list[Row]:
    floors = floor_ms(known)
    rows = []
    for index, column in enumerate(matrix.columns):
        bound = floors.get(column.context_id, np.nan)
        what = "the least traffic takes at 1.5 times the copy bandwidth measured there"
        if np.isnan(bound):
            bound, what = SHORTEST_LAUNCH_MS, "any launch takes"
        under = int((matrix.times_ms[:, index] < bound).sum())
        if under:
            best_ms = np.nanmin(matrix.times_ms[:, index])
            detail = f"{under} times are shorter than {what}: {best_ms:.3g} ms < {bound:.3g} ms"
            rows.append((column.context_id, BELOW_FLOOR, under, detail))
    return rows


def _multiples(matrix: TimeMatrix) -> list[Row]:
    rows = []
    for first, second in combinations(range(len(matrix.columns)), 2):
        if matrix.columns[first].device_model_id == matrix.columns[second].device_model_id:
            continue
        factor, cells, shared = _common_ratio(matrix.times_ms[:, first], matrix.times_ms[:, second])
        if cells >= _FEWEST_CELLS and cells >= _SUSPECT_SHARE * shared:
            pairs = ((first, second, factor), (second, first, 1 / factor))
            for index, other, times in pairs:
                there = matrix.columns[other]
                detail = (
                    f"{cells} of {shared} times are exactly {times:.6g} times those of "
                    f"{there.device_model} {there.problem}"
                )
                rows.append((matrix.columns[index].context_id, MULTIPLE, cells, detail))
    return rows


def _common_ratio(first_ms: Floats, second_ms: Floats) -> tuple[float, int, int]:
    """Return the ratio that two contexts' times share, how often it occurs, and of how many cells.

    Ratios are compared to nine digits; timers resolve five to seven. Short times on coarse timers
    repeat, so equal ratios prove something only where the times behind them differ.
    """
    both = ~np.isnan(first_ms) & ~np.isnan(second_ms)
    if both.sum() < _FEWEST_CELLS:
        return np.nan, 0, int(both.sum())
    first_ms, second_ms = first_ms[both], second_ms[both]
    rounded = np.round(np.log(first_ms / second_ms), 9)
    ratios, counts = np.unique(rounded, return_counts=True)
    most = int(counts.argmax())
    behind = first_ms[rounded == ratios[most]]
    second_most = int(np.delete(counts, most).max(initial=0))
    is_telling = counts[most] >= _OVER_SECOND * second_most and len(
        np.unique(behind)
    ) >= _DISTINCT_SHARE * len(behind)
    return float(np.exp(ratios[most])), int(counts[most]) if is_telling else 0, len(rounded)


def _flat(matrix: TimeMatrix) -> list[Row]:
    rows = []
    for index, column in enumerate(matrix.columns):
        ran = matrix.times_ms[matrix.states[:, index] == MEASURED, index]
        if len(ran) < _FLAT_CONFIGS:
            continue
        low, high = np.quantile(ran, (0.025, 0.975))
        if high < _FLAT_BELOW_MS and high / low < _FLAT_RATIO:
            detail = f"95% of {len(ran)} configs take {low:.3g} to {high:.3g} ms"
            rows.append((column.context_id, FLAT, len(ran), detail))
    return rows
