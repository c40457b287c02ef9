"""Winners as one flat table, a row each, for spreadsheets and scripts.

Columns: identity and evidence first, then ``problem.<field>`` and ``config.<parameter>``.
"""

import csv
import io
from collections.abc import Sequence
from typing import Any

from autotune_lab.exporting.base import Format, Options, doubts, ordered
from autotune_lab.records import Pick

FORMAT = Format(
    name="csv", suffix=".csv", description="one flat row per winner, units in column names"
)


def write(picks: Sequence[Pick], *, options: Options) -> str:
    """Write a header and a row per pick; what a pick does not have is an empty cell."""
    rows = [_row(pick, options) for pick in ordered(picks)]
    fixed = list(dict.fromkeys(name for row in rows for name in row if "." not in name))
    varying = sorted({name for row in rows for name in row if "." in name})
    varying.sort(key=lambda name: not name.startswith("problem."))
    text = io.StringIO()
    # Text is quoted as a whole, because the csv module leaves a lone carriage return bare.
    writer = csv.DictWriter(
        text, [*fixed, *varying], lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(pick: Pick, options: Options) -> dict[str, Any]:
    context, model = pick.context, pick.context.model
    row: dict[str, Any] = {
        "kernel": context.kernel.name,
        "problem": str(context.problem),
        "device_name": model.name,
        "partition": model.partition,
        "architecture": model.architecture,
        "sm_count": model.sm_count,
        "memory_bytes": model.memory_bytes,
        "device_model_id": model.id,
        "device_uuids": " ".join(sorted(options.device_uuids.get(model.id, ()))),
        "source": context.source.value,
        "code_hash": context.kernel.code_hash,
        "triton": context.environment.triton,
        "driver": context.environment.driver,
        "environment_id": context.environment.id,
        "protocol_id": context.protocol.id,
        "config_id": pick.config.id,
        "median_ms": pick.median_ms,
        "low_ms": pick.low_ms,
        "high_ms": pick.high_ms,
        "chosen_ms": pick.chosen_ms,
        "default_ms": pick.default_ms,
        "rounds": pick.rounds,
        "candidates": pick.candidates,
        "trials": pick.trials,
        "space_size": pick.space_size,
        "best_probability": pick.best_probability,
        "tied_configs": " ".join(pick.tied),
        "flags": " ".join(pick.flags),
        "doubts": "; ".join(doubts(pick, options)),
        "verdict": options.verdicts.get(context.id, ""),
        "picked_at": pick.picked_at,
    }
    row |= {f"problem.{name}": value for name, value in context.problem.items()}
    return row | {f"config.{name}": value for name, value in pick.config.items()}
