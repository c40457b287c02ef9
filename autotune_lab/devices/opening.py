"""Turns a device spec into a device: ``auto``, ``cuda:0@64sm``, ``replay``, ``fake`` and so on.

The study's process only asks here for capabilities, which imports no torch and touches no driver;
``open_device`` runs in the process that owns the device.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import cast

from autotune_lab import plugins
from autotune_lab.devices.base import Capabilities, Device
from autotune_lab.errors import NoDevice, UsageError

AUTO = "auto"
# What ``auto`` tries in order, each with the argument that it means.
_AUTOMATIC = {"cuda": "0", "replay": ""}


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A parsed device spec; its text is ``name[:argument][@part]``."""

    name: str
    argument: str = ""
    part: str = ""

    @classmethod
    def parse(cls, text: str) -> "DeviceSpec":
        """Read a spec.

        Raises:
            UsageError: it has no name, or an empty argument or part.
        """
        body, at, part = text.strip().rpartition("@") if "@" in text else (text.strip(), "", "")
        name, colon, argument = body.partition(":")
        if not name or (at and not part) or (colon and not argument):
            raise UsageError(
                f"device {text!r} is not name[:argument][@part]; for example cuda:0, cuda:0@64sm, "
                "replay or interpreter"
            )
        return cls(name, argument, part)

    def __str__(self) -> str:
        argument = f":{self.argument}" if self.argument else ""
        part = f"@{self.part}" if self.part else ""
        return f"{self.name}{argument}{part}"


def resolve(spec: str) -> str:
    """Return the spec itself, or for ``auto`` the first CUDA device, else the bundled recording.

    Raises:
        UsageError: it is not a spec.
        NoDevice: ``auto`` finds neither.
    """
    parsed = DeviceSpec.parse(spec)
    if parsed.name != AUTO:
        return str(parsed)
    faults = []
    for name, argument in _AUTOMATIC.items():
        fault = plugins.load("devices", name).missing()
        if not fault:
            return str(DeviceSpec(name, parsed.argument or argument, parsed.part))
        faults.append(fault)
    raise NoDevice(f"{'; '.join(faults)}; use --device interpreter or --device fake")


def capabilities_of(spec: str) -> Capabilities:
    """Return what a device can do without opening it.

    Raises:
        UsageError: there is no such device plug-in.
    """
    return cast("Capabilities", _plugin(spec).CAPABILITIES)


def environment_variables(spec: str) -> Mapping[str, str]:
    """Return what must be in the environment of the device's process before it starts.

    Raises:
        UsageError: there is no such device plug-in.
    """
    return dict(getattr(_plugin(spec), "VARIABLES", {}))


def open_device(spec: str) -> Device:
    """Open a device in this process.

    Raises:
        UsageError: there is no such device plug-in, or its argument or part makes no sense.
        NoDevice: it is not there, or its driver is missing.
    """
    parsed = DeviceSpec.parse(resolve(spec))
    return cast("Device", _plugin(str(parsed)).open(parsed.argument, parsed.part))


def _plugin(spec: str) -> ModuleType:
    return plugins.load("devices", DeviceSpec.parse(resolve(spec)).name)
