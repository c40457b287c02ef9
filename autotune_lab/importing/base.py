"""The contract of an import format, and what all share: naming contexts, making trials.

A format is a file ``importing/<name>.py`` with ``DESCRIPTION``, ``recognises(document)`` and
``parse(document, origin) -> Imported``. Nothing of a file is returned unless all of it was read.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from typing import Protocol as Contract

from autotune_lab.definitions import Problem
from autotune_lab.errors import DefinitionError, ImportFailed
from autotune_lab.measuring.statistics import median_interval
from autotune_lab.recording import RecordedContext
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Measurement,
    Phase,
    Protocol,
    Resources,
    Source,
    SpaceSnapshot,
    Trial,
    TrialState,
)
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.values import digest
from autotune_lab.store.plausible import is_time

# What other tuners do between launches is not in their files; their times are compared with one
# another and never with the lab's own.
PROTOCOL = Protocol(version=0, cache="hot", warmup_ms=0.0, min_samples=1)

_NVIDIA = re.compile(r"nvidia|geforce|[rg]tx|tesla|quadro|titan|^[abhlptv]\d{2,4}\b", re.IGNORECASE)
_AMD = re.compile(r"amd|radeon|instinct|^mi\d{2,3}|^w\d{4}\b|^gfx", re.IGNORECASE)
_ENDING = re.compile(r"(\.gz|\.json|[_-]t\d)+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document came from, and what the user says about it.

    Attributes:
        path: the file, for messages and as the last source of names.
        device_name, kernel: said by the user, before what the file says; ``""`` if not.
    """

    path: Path
    device_name: str = ""
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file held.

    Attributes:
        contexts: with all their trials.
        notes: what a person must be told, one line each.
    """

    contexts: tuple[RecordedContext, ...]
    notes: tuple[str, ...] = ()


class FormatModule(Contract):
    """What every format file defines."""

    DESCRIPTION: str

    def recognises(self, document: Mapping[str, Any]) -> bool:
        """Say whether a document is of this format."""

    def parse(self, document: Mapping[str, Any], origin: Origin) -> Imported:
        """Read a whole document.

        Raises:
            ImportFailed: it is not what its format promises; says which file, where and why.
        """


@dataclass(frozen=True, slots=True)
class Names:
    """What a file is about, and where that was learnt."""

    kernel: str
    device_name: str
    notes: tuple[str, ...]


def names(origin: Origin, *, kernel: str, device_name: str) -> Names:
    """Settle kernel and device: what the user says, else the file, else the file's name.

    Published files are called ``KERNEL_DEVICE.json.gz``, sometimes with ``-`` or a format's name.

    Raises:
        ImportFailed: there is no name for one of them.
    """
    stem = _ENDING.sub("", origin.path.name)
    separator = "_" if "_" in stem else "-"
    from_kernel, _, from_device = (
        stem.rpartition(separator) if separator == "_" else stem.partition(separator)
    )
    notes = []
    chosen_kernel, chosen_device = origin.kernel or kernel, origin.device_name or device_name
    if not chosen_device and from_device:
        chosen_device = from_device
        notes.append(
            f"{origin.path}: names no device; took {chosen_device!r} from the file's name "
            "(set it with --device-name)"
        )
    if not chosen_kernel and (found := from_kernel or stem):
        chosen_kernel = found
        notes.append(f"{origin.path}: names no kernel; took {chosen_kernel!r} from the file's name")
    if not chosen_device or not chosen_kernel:
        missing = "kernel" if chosen_device else "device"
        raise ImportFailed(
            f"{origin.path}: names no {missing}, and neither does the file's name; "
            "rename it to KERNEL_DEVICE.json or give --device-name"
        )
    return Names(chosen_kernel, chosen_device, tuple(notes))


def context(named: Names, problem: Problem, parameters: Iterable[str]) -> Context:
    """Return the context of a foreign table.

    The code that was measured is not in the file. Tables of one kernel name with other parameters
    are of other code, so the parameters stand for it.
    """
    code = {"imported": named.kernel, "parameters": sorted(parameters)}
    name = named.device_name
    vendor = "amd" if _AMD.search(name) else "nvidia" if _NVIDIA.search(name) else "none"
    return Context(
        kernel=KernelIdentity(named.kernel, code_hash=digest(code)),
        problem=problem,
        model=DeviceModel(name, vendor, architecture="", sm_count=0, memory_bytes=0),
        environment=Environment(),
        protocol=PROTOCOL,
        source=Source.IMPORTED,
    )


def snapshot(parameters: Mapping[str, Sequence[Any]], size: int) -> SpaceSnapshot:
    """Return the space of a table: its declared values, and as many configs as it has rows."""
    return SpaceSnapshot(
        parameters={name: tuple(values) for name, values in parameters.items()},
        ordered=tuple(
            name
            for name, values in parameters.items()
            if len(values) > 1 and all(type(value) in (int, float) for value in values)
        ),
        constraints=(),
        size=size,
    ).canonical()


def config(values: Mapping[str, Any], where: str) -> Config:
    """Return a config.

    Raises:
        ImportFailed: a value is of no supported type.
    """
    try:
        return Config(values)
    except DefinitionError as error:
        raise ImportFailed(f"{where}: {error}") from error


def finished(
    context_id: str,
    chosen: Config,
    number: int,
    samples_ms: Sequence[Any],
    *,
    compile_ms: Any = None,
    taken_at: Any = None,
) -> Trial:
    """Return the trial of a config that ran; ``bad_timing`` if a sample is no time."""
    bad = [sample for sample in samples_ms if not is_time(sample)]
    if bad or not samples_ms:
        raw = str(bad[0]) if bad else "nothing"
        reason = f"the file gives {raw} for a time, which is not a time in ms"
        return failed(context_id, chosen, number, TrialState.BAD_TIMING, reason, raw_time=raw)
    samples = tuple(float(sample) for sample in samples_ms)
    found = median_interval(samples)
    at = timestamp(taken_at)
    return Trial(
        context_id=context_id,
        config=chosen,
        state=TrialState.OK,
        number=number,
        resources=Resources(compile_ms=compile_ms) if is_time(compile_ms) else None,
        measurements=(
            Measurement(
                Phase.SCREEN,
                samples,
                found.median,
                low_ms=found.low,
                high_ms=found.high,
                taken_at=at,
            ),
        ),
        finished_at=at,
    )


def failed(
    context_id: str,
    chosen: Config,
    number: int,
    state: TrialState,
    reason: str,
    *,
    raw_time: str | None = None,
    taken_at: Any = None,
) -> Trial:
    """Return the trial of a config that did not run."""
    return Trial(
        context_id=context_id,
        config=chosen,
        state=state,
        number=number,
        reason=reason,
        raw_time=raw_time,
        finished_at=timestamp(taken_at),
    )


def timestamp(text: Any) -> str:
    """Return a date as UTC, ISO 8601; ``""`` for what is none."""
    if not isinstance(text, str):
        return ""
    try:
        taken = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return (taken if taken.tzinfo else taken.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def scaled(samples: Any, factor: float) -> list[Any]:
    """Return samples in ms; what is no number stays as it is, to be judged as a time."""
    listed = samples if isinstance(samples, list) else [samples]
    return [
        value * factor if type(value) in (int, float) and math.isfinite(value) else value
        for value in listed
    ]
