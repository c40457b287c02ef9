"""Places winners under the ceilings of their device: bound by memory, by arithmetic or by launches.

Williams, Waterman, Patterson: Roofline (2009): attainable rate = min(peak FLOP/s, intensity x peak
bandwidth). Ceilings are measured on the same device (a copy; a matmul of the dtype), so a share of
them is a share of what the device does, not of a data sheet.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from autotune_lab.analysis.matrix import TimeMatrix

COLUMNS = [
    "context_id", "device_model", "problem", "config_id", "config", "time_ms", "intensity",
    "bandwidth_gbs", "tflops", "copy_gbs", "matmul_tflops", "bandwidth_share", "tflops_share",
    "ridge_intensity", "launch_floor_ms", "verdict", "reason",
]  # fmt: skip
# With neither roof above this share in use, something else holds the kernel back.
_NEAR_ROOF = 0.5


def placements(matrix: TimeMatrix, known: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each context's winner.

    Args:
        matrix: of one kernel.
        known: columns of ``store.frames.contexts``: work and ceilings.

    Returns:
        columns: ``COLUMNS``. ``intensity`` in FLOP/B, rates as achieved for the least work,
        ``verdict`` is ``"memory-bound"``, ``"compute-bound"``, ``"launch-bound"``,
        ``"latency-bound"`` (far below both roofs) or ``"unknown"``; ``reason`` has the figure.
    """
    facts: dict[str, Any] = {row["context_id"]: row for row in known.to_dict("records")}
    rows = []
    for index, column in enumerate(matrix.columns):
        winner = int(matrix.winners[index])
        if winner < 0 or column.context_id not in facts:
            continue
        time_ms = float(matrix.times_ms[winner, index])
        rows.append(
            {
                "context_id": column.context_id,
                "device_model": column.device_model,
                "problem": column.problem,
                "config_id": matrix.configs[winner].id,
                "config": matrix.configs[winner],
                "time_ms": time_ms,
            }
            | _place(time_ms, facts[column.context_id])
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _place(time_ms: float, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a time lies under the ceilings; what is not known is NaN."""
    moved, flops = _number(facts["bytes"]), _number(facts["flops"])
    copy_gbs, floor_ms = _number(facts["copy_gbs"]), _number(facts["launch_floor_ms"])
    peak_tflops = _peak(facts["matmul_tflops"], facts["problem_fields"])
    bandwidth_gbs, tflops = moved / time_ms / 1e6, flops / time_ms / 1e9
    shares = bandwidth_gbs / copy_gbs, tflops / peak_tflops
    is_rate_missing = flops > 0 and np.isnan(peak_tflops)
    verdict, reason = _judge(time_ms, floor_ms, *shares, is_rate_missing=bool(is_rate_missing))
    return {
        "intensity": flops / moved if moved else np.nan,
        "bandwidth_gbs": bandwidth_gbs,
        "tflops": tflops,
        "copy_gbs": copy_gbs,
        "matmul_tflops": peak_tflops,
        "bandwidth_share": shares[0],
        "tflops_share": shares[1],
        "ridge_intensity": peak_tflops * 1e3 / copy_gbs,
        "launch_floor_ms": floor_ms,
        "verdict": verdict,
        "reason": reason,
    }


def _judge(
    time_ms: float,
    floor_ms: float,
    bandwidth_share: float,
    tflops_share: float,
    *,
    is_rate_missing: bool,
) -> tuple[str, str]:
    if time_ms < 2 * floor_ms:
        return (
            "launch-bound",
            f"{time_ms * 1e3:.1f} us is under twice the {floor_ms * 1e3:.1f} us of an empty launch",
        )
    shares = {
        "memory-bound": (bandwidth_share, "of the copy bandwidth measured here"),
        "compute-bound": (tflops_share, "of the matmul rate measured here"),
    }
    known = {name: share for name, share in shares.items() if not np.isnan(share[0])}
    if not known:
        return "unknown", "work or ceilings are not known"
    name, (share, of_what) = max(known.items(), key=lambda item: item[1][0])
    if share < _NEAR_ROOF and is_rate_missing:
        return "unknown", f"{share:.0%} {of_what}, and no matmul of this dtype was measured"
    if share < _NEAR_ROOF:
        return "latency-bound", f"only {share:.0%} {of_what}"
    return name, f"{share:.0%} {of_what}"


def _peak(by_dtype: Any, fields: Any) -> float:
    """Return the arithmetic ceiling for the problem's dtype; NaN where it was not measured."""
    dtype = fields.get("dtype") if isinstance(fields, Mapping) else None
    return _number(by_dtype.get(dtype)) if isinstance(by_dtype, Mapping) else np.nan


def _number(value: Any) -> float:
    """Return a positive number, or NaN."""
    return float(value) if value is not None and value == value and value > 0 else np.nan
