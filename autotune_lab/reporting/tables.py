"""Frames to files: CSV and strict JSON with the very values that the pictures show."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.codec import to_plain
from autotune_lab.reporting.wording import is_missing


def to_csv(frame: pd.DataFrame) -> str:
    """Write a frame without its index; a missing value is an empty cell, 128 stays 128."""
    shown = frame.copy()
    for name in frame.columns:
        if frame[name].dtype == object:
            cells = [_cell(item) for item in frame[name]]
            shown[name] = pd.Series(cells, index=frame.index, dtype=object)
    return str(shown.to_csv(index=False, lineterminator="\n"))


def to_json(frame: pd.DataFrame) -> str:
    """Write a frame as a list of rows; a missing or infinite number is null."""
    columns = {str(name): [plain(item) for item in frame[name].tolist()] for name in frame.columns}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def plain(item: Any) -> Any:
    """Return what strict JSON can hold of a value of a frame."""
    if isinstance(item, np.generic):
        item = item.item()
    if is_missing(item) or (isinstance(item, float) and not math.isfinite(item)):
        return None
    if isinstance(item, pd.Timestamp):
        return item.isoformat()
    if isinstance(item, set | frozenset):
        return sorted(map(str, item))
    if hasattr(item, "items"):
        return {str(key): plain(entry) for key, entry in item.items()}
    if isinstance(item, tuple | list | np.ndarray):
        return [plain(entry) for entry in item]
    return to_plain(item)


def _cell(item: Any) -> Any:
    kept = plain(item)
    return json.dumps(kept) if isinstance(kept, dict | list) else kept
