"""Reads cache files of Kernel Tuner: every config with its raw samples or the kind of its failure.

``GFLOP/s`` and other metrics are not read: they may be stale, and follow from the times.
"""

from collections.abc import Mapping
from typing import Any

from autotune_lab.definitions import Problem
from autotune_lab.errors import ImportFailed
from autotune_lab.importing import base
from autotune_lab.importing.base import Imported, Origin
from autotune_lab.recording import RecordedContext
from autotune_lab.records import Trial, TrialState

DESCRIPTION = "cache files of Kernel Tuner (.json, .json.gz), also those left open"

STATES = {
    "InvalidConfig": TrialState.ILLEGAL,
    "CompilationFailedConfig": TrialState.COMPILE_ERROR,
    "RuntimeFailedConfig": TrialState.LAUNCH_ERROR,
    "ErrorConfig": TrialState.LAUNCH_ERROR,
}
# Old versions wrote this number, in ms, for a config that failed.
FAILURE_MS = 1e20

_AXES = ("x", "y", "z")


def recognises(document: Mapping[str, Any]) -> bool:
    """Say whether this is a Kernel Tuner cache."""
    return {"tune_params_keys", "cache"} <= document.keys()


def parse(document: Mapping[str, Any], origin: Origin) -> Imported:
    """Read a cache as one context.

    Raises:
        ImportFailed: a part is missing or of the wrong kind.
    """
    keys, cache = document["tune_params_keys"], document["cache"]
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ImportFailed(f"{origin.path}: tune_params_keys is {keys!r}, not a list of names")
    if not isinstance(cache, dict) or not cache:
        raise ImportFailed(f"{origin.path}: cache holds no configs, so there is nothing to import")
    named = base.names(
        origin,
        kernel=_text(document, "kernel_name", origin),
        device_name=_text(document, "device_name", origin),
    )
    context = base.context(named, _problem(document.get("problem_size")), keys)
    context_id = context.id
    trials = tuple(
        _trial(context_id, keys, number, entry, f"{origin.path}: cache entry {key!r}")
        for number, (key, entry) in enumerate(cache.items())
    )
    space = base.snapshot(_parameters(document, keys, trials, origin), len(trials))
    return Imported((RecordedContext(context, space, trials=trials),), named.notes)


def _trial(context_id: str, keys: list[str], number: int, entry: Any, where: str) -> Trial:
    if not isinstance(entry, dict):
        raise ImportFailed(f"{where}: is {entry!r}, not an object")
    if missing := [key for key in keys if key not in entry]:
        raise ImportFailed(f"{where}: has no value for {', '.join(missing)}")
    chosen = base.config({key: entry[key] for key in keys}, where)
    time_ms, taken_at = entry.get("time"), entry.get("timestamp")
    failure = entry.get("__error__") or (time_ms if isinstance(time_ms, str) else None)
    if isinstance(time_ms, float | int) and time_ms >= FAILURE_MS and time_ms != float("inf"):
        failure = f"{time_ms:g} in place of a time"
    if failure is not None and not _is_number(failure):
        state = STATES.get(str(failure), TrialState.LAUNCH_ERROR)
        return base.failed(context_id, chosen, number, state, str(failure), taken_at=taken_at)
    samples = entry.get("times") or [time_ms]
    if not isinstance(samples, list):
        raise ImportFailed(f"{where}: times is {samples!r}, not a list")
    return base.finished(
        context_id, chosen, number, samples, compile_ms=entry.get("compile_time"), taken_at=taken_at
    )


def _is_number(text: Any) -> bool:
    """Say whether a "failure" is a number in quotes, which is a bad time and no kind of failure."""
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _parameters(
    document: Mapping[str, Any], keys: list[str], trials: tuple[Trial, ...], origin: Origin
) -> dict[str, list[Any]]:
    """Return each parameter's values: as declared, and any that a config has beyond those."""
    declared = document.get("tune_params", {})
    if not isinstance(declared, dict):
        raise ImportFailed(f"{origin.path}: tune_params is {declared!r}, not an object")
    values = {}
    for key in keys:
        listed = declared.get(key, [])
        seen = [trial.config[key] for trial in trials]
        values[key] = list(dict.fromkeys([*(listed if isinstance(listed, list) else []), *seen]))
    return values


def _problem(size: Any) -> Problem:
    """Name the sides of a grid x, y, z; a size that was computed at run time is kept as text."""
    sides = size if isinstance(size, list) else [size]
    if size is None or len(sides) > len(_AXES):
        return Problem(size="unknown" if size is None else str(size))
    return Problem(
        {
            axis: side if isinstance(side, int | str) else str(side)
            for axis, side in zip(_AXES, sides, strict=False)
        }
    )


def _text(document: Mapping[str, Any], key: str, origin: Origin) -> str:
    value = document.get(key, "")
    if not isinstance(value, str):
        raise ImportFailed(f"{origin.path}: {key} is {value!r}, not a text")
    return value
