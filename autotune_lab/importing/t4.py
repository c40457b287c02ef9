"""Reads results in the T4 format of the autotuning community (FAIR results, schema 1.0.0)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autotune_lab.definitions import Problem
from autotune_lab.errors import ImportFailed
from autotune_lab.importing import base
from autotune_lab.importing.base import Imported, Origin
from autotune_lab.recording import RecordedContext
from autotune_lab.records import Trial, TrialState
from autotune_lab.spaces.config import Config

DESCRIPTION = "T4 result files (.json, .json.gz), schema 1.x"

STATES = {
    "timeout": TrialState.TIMEOUT,
    "compile": TrialState.COMPILE_ERROR,
    "runtime": TrialState.LAUNCH_ERROR,
    "correctness": TrialState.WRONG_RESULT,
    "constraints": TrialState.ILLEGAL,
}
UNIT_MS = {
    "": 1.0,
    "miliseconds": 1.0,  # spelt so in published files
    "milliseconds": 1.0,
    "ms": 1.0,
    "seconds": 1e3,
    "s": 1e3,
    "microseconds": 1e-3,
    "us": 1e-3,
    "nanoseconds": 1e-6,
    "ns": 1e-6,
}


def recognises(document: Mapping[str, Any]) -> bool:
    """Say whether this is a T4 file."""
    return {"schema_version", "results"} <= document.keys()


def parse(document: Mapping[str, Any], origin: Origin) -> Imported:
    """Read a file of results as one context.

    Raises:
        ImportFailed: a part is missing or of the wrong kind, or the schema is not 1.x.
    """
    version, results = document["schema_version"], document["results"]
    if not str(version).startswith("1."):
        raise ImportFailed(f"{origin.path}: has T4 schema {version!r}; 1.x can be read")
    if not isinstance(results, list) or not results:
        raise ImportFailed(f"{origin.path}: results is empty, so there is nothing to import")
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    factor = _factor(metadata.get("timeunit", ""), str(origin.path))
    wheres = [f"{origin.path}: result {number}" for number in range(1, len(results) + 1)]
    configs = [_config(entry, where) for entry, where in zip(results, wheres, strict=True)]
    parameters = list(configs[0])
    for where, config in zip(wheres, configs, strict=True):
        if list(config) != parameters:
            raise ImportFailed(f"{where}: sets {', '.join(config)}, not {', '.join(parameters)}")
    named = base.names(
        origin,
        kernel=str(metadata.get("kernel") or ""),
        device_name=str(metadata.get("device") or ""),
    )
    problem = metadata.get("problem")
    context = base.context(
        named, Problem(problem if isinstance(problem, dict) and problem else UNKNOWN), parameters
    )
    context_id = context.id
    trials: dict[str, Trial] = {}
    for number, (entry, config, where) in enumerate(zip(results, configs, wheres, strict=True)):
        trial = _trial(context_id, config, number, entry, factor, where)
        earlier = trials.get(config.id)
        trials[config.id] = _joined(earlier, trial) if earlier else trial
    values = {name: sorted({c[name] for c in configs}, key=_order) for name in parameters}
    return Imported(
        (
            RecordedContext(
                context, base.snapshot(values, len(trials)), trials=tuple(trials.values())
            ),
        ),
        named.notes,
    )


UNKNOWN = {"size": "unknown"}


def _config(entry: Any, where: str) -> Config:
    configuration = entry.get("configuration") if isinstance(entry, dict) else None
    if not isinstance(configuration, dict) or not configuration:
        raise ImportFailed(f"{where}: has no configuration")
    return base.config(configuration, where)


def _trial(
    context_id: str,
    config: Config,
    number: int,
    entry: Mapping[str, Any],
    factor: float,
    where: str,
) -> Trial:
    validity, taken_at = entry.get("invalidity", "correct"), entry.get("timestamp")
    if validity != "correct":
        if validity not in STATES:
            known = ", ".join(["correct", *STATES])
            raise ImportFailed(f"{where}: invalidity is {validity!r}, not one of {known}")
        reason = str(_measured(entry).get("value", validity))
        return base.failed(context_id, config, number, STATES[validity], reason, taken_at=taken_at)
    times = entry.get("times")
    times = times if isinstance(times, dict) else {}
    measured = _measured(entry)
    samples = base.scaled(times.get("runtimes") or [], factor)
    if not samples:
        unit = measured.get("unit", "")
        one = _factor(unit, where) if unit else factor
        samples = base.scaled(measured.get("value"), one)
    return base.finished(
        context_id,
        config,
        number,
        samples,
        compile_ms=base.scaled(times.get("compilation"), factor)[0],
        taken_at=taken_at,
    )


def _measured(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the measurement called "time"."""
    measurements = entry.get("measurements")
    for measurement in measurements if isinstance(measurements, list) else []:
        if isinstance(measurement, dict) and measurement.get("name") == "time":
            return measurement
    return {}


def _joined(earlier: Trial, later: Trial) -> Trial:
    """Keep every measurement of a config that a file holds twice; a failure prevails."""
    if TrialState.OK is not earlier.state or TrialState.OK is not later.state:
        return earlier if earlier.state is not TrialState.OK else later
    return replace(earlier, measurements=(*earlier.measurements, *later.measurements))


def _factor(unit: Any, where: str) -> float:
    try:
        return UNIT_MS[str(unit).strip().lower()]
    except KeyError:
        known = ", ".join(filter(None, UNIT_MS))
        raise ImportFailed(f"{where}: time unit {unit!r} is not one of {known}") from None


def _order(value: Any) -> tuple[bool, Any]:
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)
