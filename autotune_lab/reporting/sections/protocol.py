"""Appendix: the exact devices, software, code and protocol behind every number."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from autotune_lab.codec import to_plain
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.sections.base import Cell, Section, Table, Tone, no_data

ORDER = 90
TITLE = "Environment and protocol"
UNKNOWN = Cell("unknown", Tone.MISSING)


def build(data: ReportData) -> Section | None:
    """List devices, software, protocols and contexts."""
    if data.contexts.empty:
        return no_data(TITLE, "nothing was tuned yet")
    contexts = rows_of(data.contexts)
    return Section(
        title=TITLE,
        finding=_finding(data.contexts),
        tables=[
            _devices(contexts, data.trials),
            _environments(contexts),
            _protocols(contexts),
            _contexts(contexts, data),
        ],
        caveats=_caveats(data.contexts),
    )


def _finding(contexts: pd.DataFrame) -> str:
    counted = {
        "device model": contexts["device_model_id"].nunique(),
        "problem": contexts["problem"].nunique(),
        "environment": contexts["environment_id"].nunique(),
        "protocol": contexts["protocol_id"].nunique(),
    }
    return f"Measured on {wording.listing(wording.count(n, w) for w, n in counted.items())}."


def _devices(contexts: list[dict[str, Any]], trials: pd.DataFrame) -> Table:
    seen = trials[trials["device_uuid"].fillna("") != ""]
    uuids = seen.groupby("device_model_id")["device_uuid"].unique()
    rows, plain = [], []
    for row in _distinct(contexts, "device_model_id"):
        model = row["model"]
        mine = sorted(map(str, uuids.get(model.id, [])))
        rows.append(
            [row["device_model"], wording.device(model), ", ".join(mine) or UNKNOWN, model.id]
        )
        plain.append(to_plain(model) | {"id": model.id, "uuids": mine})
    columns = ["Device model", "As the driver names it", "UUIDs", "Identity"]
    return Table("devices", "Device models", columns, rows, pd.DataFrame(plain))


def _environments(contexts: list[dict[str, Any]]) -> Table:
    names = ("driver", "runtime", "torch", "triton", "compiler")
    rows, plain = [], []
    for row in _distinct(contexts, "environment_id"):
        environment = row["environment"]
        variables = (f"{k}={v}" for k, v in sorted(environment.variables.items()))
        words: list[Cell | str] = [getattr(environment, name) or UNKNOWN for name in names]
        rows.append([environment.id, *words, " ".join(variables)])
        plain.append(to_plain(environment) | {"id": environment.id})
    columns = ["Identity", "Driver", "Runtime", "torch", "Triton", "Compiler", "Variables"]
    return Table("environments", "Software", columns, rows, pd.DataFrame(plain))


def _protocols(contexts: list[dict[str, Any]]) -> Table:
    cells: dict[str, Callable[[Any], str]] = {
        "Identity": lambda p: p.id,
        "L2 cache": lambda p: p.cache,
        "Timer": lambda p: p.timer,
        "#Samples": lambda p: f"{p.min_samples} to {p.max_samples}",
        "#Stops at ±": lambda p: wording.percent(p.target_relative_interval),
        "#Warm-up, ms": lambda p: wording.digits(p.warmup_ms, 3),
        "#Playoff": lambda p: f"{p.playoff_size} configs × {p.playoff_rounds} rounds",
        "#Seed": lambda p: str(p.seed),
    }
    protocols = [row["protocol"] for row in _distinct(contexts, "protocol_id")]
    rows = [[write(protocol) for write in cells.values()] for protocol in protocols]
    frame = pd.DataFrame([to_plain(protocol) | {"id": protocol.id} for protocol in protocols])
    return Table("protocols", "Measuring protocols", list(cells), rows, frame)


def _contexts(contexts: list[dict[str, Any]], data: ReportData) -> Table:
    trials = data.trials.groupby("context_id").size()
    plain = [
        {
            "label": data.labels[row["context_id"]],
            "context_id": row["context_id"],
            "problem": row["problem"],
            "device_model_id": row["device_model_id"],
            "environment_id": row["environment_id"],
            "protocol_id": row["protocol_id"],
            "code_hash": row["code_hash"],
            "source": row["source"],
            "trials": int(trials.get(row["context_id"], 0)),
            "space_size": row["space"].size,
            "runs": int(row["runs"]),
            "constraints": " and ".join(row["space"].constraints),
        }
        for row in contexts
    ]
    shown = ("label", "problem", "source", "code_hash", "trials", "space_size", "runs")
    rows = [[wording.value(entry[name]) for name in shown] for entry in plain]
    columns = ["Context", "Problem", "Source", "Code", "#Trials", "#Space", "#Runs"]
    return Table("contexts", "Contexts", columns, rows, pd.DataFrame(plain))


def _distinct(contexts: list[dict[str, Any]], key: str) -> Iterable[dict[str, Any]]:
    return {row[key]: row for row in contexts}.values()


def _caveats(contexts: pd.DataFrame) -> list[str]:
    found = []
    groups = contexts.groupby(["device_model_id", "problem"])
    for column, word in (
        ("environment_id", "environments"),
        ("protocol_id", "protocols"),
        ("code_hash", "versions of the kernel's code"),
    ):
        kinds = groups[column].nunique()
        repeated = int((kinds > 1).sum())
        if repeated:
            found.append(
                f"{wording.count(repeated, 'device and problem', 'pairs of device and problem')} "
                f"measured under several {word}: kept apart everywhere, never averaged."
            )
    return found
