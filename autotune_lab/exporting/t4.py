"""Winners as FAIR autotuning results (T4), one file per kernel, problem and device model.

T4 has no place for intervals, so what the lab knows beyond it goes into ``metadata``.
"""

import json
from collections.abc import Sequence
from typing import Any

from autotune_lab.exporting.base import Format, Options, doubts, ordered, safe_stem
from autotune_lab.records import Pick

SCHEMA_VERSION = "1.0.0"


def stem(pick: Pick) -> str:
    """Name the file by kernel, device model and problem."""
    context = pick.context
    words = f"{context.kernel.name}-{context.model.slug}-{context.model.id[:8]}"
    return safe_stem(words, identity=context.problem.id)


FORMAT = Format(
    name="t4",
    suffix=".json",
    description="FAIR results (T4 1.0.0), one file per kernel, problem and device model",
    stem=stem,
)


def write(picks: Sequence[Pick], *, options: Options) -> str:
    """Write the winners of one kernel, problem and device model as T4 results."""
    chosen = ordered(picks)
    context = chosen[0].context
    document = {
        "schema_version": SCHEMA_VERSION,
        "metadata": {
            "timeunit": "miliseconds",  # spelt so in published T4 files, which readers match
            "kernel": context.kernel.name,
            "problem": dict(context.problem),
            "device": context.model.name,
            "device_model_id": context.model.id,
            "device_uuids": sorted(set(options.device_uuids.get(context.model.id, ()))),
            "content": "winners only, times are medians over fresh rounds",
        },
        "results": [_result(pick, options) for pick in chosen],
    }
    return json.dumps(document, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _result(pick: Pick, options: Options) -> dict[str, Any]:
    compile_ms = pick.resources.compile_ms if pick.resources else None
    bounds = {"low": pick.low_ms, "high": pick.high_ms, "default": pick.default_ms}
    return {
        "timestamp": pick.picked_at,
        "configuration": dict(pick.config),
        "times": {
            "compilation": compile_ms or 0.0,
            "framework": 0.0,
            "search_algorithm": 0.0,
            "validation": 0.0,
            "runtimes": [pick.median_ms],
        },
        "invalidity": "correct",
        "correctness": 1,
        "measurements": [{"name": "time", "value": pick.median_ms, "unit": "ms"}]
        + [
            {"name": f"time_{k}", "value": v, "unit": "ms"}
            for k, v in bounds.items()
            if v is not None
        ],
        "objectives": ["time"],
        "source": pick.context.source.value,
        "code_hash": pick.context.kernel.code_hash,
        "environment_id": pick.context.environment.id,
        "doubts": doubts(pick, options),
    }
