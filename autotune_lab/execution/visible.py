"""Turns a device spec into what its process is started with: the one device it may see, by UUID.

Ordinals break under an outer ``CUDA_VISIBLE_DEVICES``, under MIG and on mixed cards; a UUID does
not. Asks NVML, never torch, so the parent holds no device context.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from autotune_lab.devices.opening import DeviceSpec, environment_variables, resolve

_UUID_PREFIXES = ("GPU-", "MIG-")


@dataclass(frozen=True, slots=True)
class Assignment:
    """How the process that owns a device is started.

    Attributes:
        spec: the device spec inside that process.
        uuid: the device it must find there; ``""`` when it can't be known from outside.
        variables: its environment variables.
    """

    spec: str
    uuid: str
    variables: Mapping[str, str]


def assign(spec: str) -> Assignment:
    """Return the assignment for a device spec; only ``cuda`` devices have a UUID.

    Raises:
        UsageError: it is not a spec, or there is no such device plug-in.
    """
    device = DeviceSpec.parse(resolve(spec))
    variables = dict(environment_variables(str(device)))
    if device.name != "cuda":
        return Assignment(str(device), "", variables)
    variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    argument = device.argument or "0"
    uuid = argument if argument.startswith(_UUID_PREFIXES) else _uuid_of(argument)
    if uuid:
        variables["CUDA_VISIBLE_DEVICES"] = uuid
        device = replace(device, argument="0")
    return Assignment(str(device), uuid, variables)


def same_uuid(one: str, other: str) -> bool:
    """Compare two UUIDs, with or without their prefix."""
    return _bare(one) == _bare(other)


def _bare(uuid: str) -> str:
    for prefix in _UUID_PREFIXES:
        uuid = uuid.removeprefix(prefix)
    return uuid.lower()


def _uuid_of(ordinal: str) -> str:
    """Return the UUID of the n-th visible device in PCI order; ``""`` when NVML can't tell."""
    if not ordinal.isdecimal():
        return ""
    index = int(ordinal)
    mask = os.environ.get("CUDA_VISIBLE_DEVICES")
    if mask is not None:
        entries = [entry.strip() for entry in mask.split(",")]
        if index >= len(entries):
            return ""
        if entries[index].startswith(_UUID_PREFIXES):
            return entries[index]
        if not entries[index].isdecimal():
            return ""
        index = int(entries[index])
    return _nvml_uuid(index)


def _nvml_uuid(index: int) -> str:
    try:
        import pynvml
    except ImportError:
        return ""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ""
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        if _has_mig(pynvml, handle):
            return ""
        uuid = pynvml.nvmlDeviceGetUUID(handle)
        return uuid.decode() if isinstance(uuid, bytes) else str(uuid)
    except pynvml.NVMLError:
        return ""
    finally:
        pynvml.nvmlShutdown()


def _has_mig(pynvml: object, handle: object) -> bool:
    """A card in MIG mode is no device itself: CUDA shows its first slice, whose UUID is another."""
    try:
        current, _pending = pynvml.nvmlDeviceGetMigMode(handle)  # type: ignore[attr-defined]
    except pynvml.NVMLError:  # type: ignore[attr-defined]
        return False
    return bool(current == pynvml.NVML_DEVICE_MIG_ENABLE)  # type: ignore[attr-defined]
