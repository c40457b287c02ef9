"""The contract of a device plug-in: a file ``devices/<name>.py`` with ``open(argument, part)``.

A device spec is ``name[:argument][@part]``: ``cuda:0``, ``cuda:0@64sm``, ``interpreter``,
``replay:recording.jsonl.gz@nvidia-h200``. Devices live in the process that owns them; only records
leave it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from autotune_lab.records import Device as DeviceRecord
from autotune_lab.records import Environment, KernelIdentity, MeasureJob, Outcome, Telemetry
from autotune_lab.definitions import Problem


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a device can do, as attributes rather than as lists kept elsewhere.

    Attributes:
        compiles: Triton compiles for it, so configs are compiled ahead of time in the pool.
        recorded: it answers from a recording and runs nothing (a ``RecordedDevice``).
        isolated: it must run in a process of its own; False for devices that can't be harmed.
    """

    compiles: bool
    recorded: bool
    isolated: bool


class Device(Protocol):
    """What every device plug-in answers."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do; asked before anything is probed."""

    def probe(self) -> DeviceRecord:
        """Return identity and model, as read from the device.

        Raises:
            NoDevice: it is not there, or its driver is missing.
        """

    def environment(self) -> Environment:
        """Return the software that its times depend on."""


class TimingDevice(Device, Protocol):
    """A device that runs launches and times them."""

    @property
    def torch_device(self) -> str:
        """Where inputs are made: ``"cuda:0"`` or ``"cpu"``."""

    def time(
        self, launch: Callable[[], Any], count: int, *, prepare: Callable[[], None], cache: str, timer: str
    ) -> list[Any]:
        """Launch ``count`` times and return each launch's time in ms, as raw as the timer gave it.

        ``prepare`` runs before each launch, outside the timed window (restore, zero, rotate inputs);
        with ``cache="cold"`` the L2 is flushed after it, also outside.
        """

    def synchronize(self) -> None:
        """Wait for all launched work; a device error surfaces here."""

    def load(self, duration_ms: float) -> None:
        """Keep the device busy, so that clock and temperature are those of work."""

    def telemetry(self) -> Telemetry:
        """Read clocks, power, temperature, throttle reasons and other processes; change nothing."""


class RecordedDevice(Device, Protocol):
    """A device that answers from a recording."""

    def recall(self, job: MeasureJob) -> Outcome:
        """Return what was recorded for a job; a config that was not recorded is ``illegal``."""

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line why the recording may not speak for this kernel (other code); else ``""``.

        Raises:
            NoDevice: the recording holds nothing of this kernel and problem; the message lists what it has.
        """
