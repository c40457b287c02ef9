"""The contract of a device plug-in: a module or package ``devices/<name>`` found by its name.

A plug-in defines ``CAPABILITIES``, ``open(argument, part) -> Device`` and ``missing() -> str`` (why
the machine can't run it, ``""`` if it can), and may define ``VARIABLES``, which its process is
started with. Importing it imports neither torch nor a driver. A device spec is
``name[:argument][@part]``: ``cuda:0``, ``cuda:0@64sm``, ``replay:recording.jsonl.gz@nvidia-h200``.
Devices live in the process that owns them; only records leave it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from autotune_lab.definitions import Problem
from autotune_lab.records import Device as DeviceRecord
from autotune_lab.records import Environment, KernelIdentity, MeasureJob, Outcome, Telemetry


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


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the device reaches at best, measured on it; None or empty where it was not measured."""

    launch_floor_ms: float | None = None
    copy_gbs: float | None = None
    matmul_tflops: dict[str, float] = field(default_factory=dict)


class UntimableError(Exception):
    """The device's timer can't be believed for a launch; the message says why."""


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

    @property
    def substitutes(self) -> Mapping[str, str]:
        """Dtypes that it can't compute in, with the one that stands in for each; mostly empty."""

    def run(self, launch: Callable[[], Any]) -> None:
        """Launch once, untimed, and wait for its end; the first launch of a config compiles it.

        Raises:
            UntimableError: it leaves work on another stream than the one that is timed.
        """

    def time(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        cache: str,
        timer: str,
    ) -> list[Any]:
        """Launch ``count`` times and return each launch's time in ms, as raw as the timer gave it.

        ``prepare`` runs before each launch, outside the timed window (restore, zero, rotate
        inputs); with ``cache="cold"`` the L2 is flushed after it, also outside. With
        ``timer="graph"`` one sample is the mean over many unrolled calls, and ``prepare`` runs
        before each sample.

        Raises:
            UntimableError: the times would mean something else than the launch.
        """

    def count_launches(self, launch: Callable[[], Any]) -> int | None:
        """Launch, and count the kernels, copies and fills that ran; None where nobody can tell."""

    def launch_floor_ms(self) -> float | None:
        """Return what an empty kernel takes by events; None where there is no such thing."""

    def synchronize(self) -> None:
        """Wait for all launched work; a device error surfaces here."""

    def load(self, duration_ms: float) -> None:
        """Keep the device busy for as long as it was idle before, at most for a duration.

        Clock and temperature are then those of work.
        """

    def telemetry(self) -> Telemetry:
        """Read clocks, power, temperature, throttle reasons and other processes; change nothing."""


class RecordedDevice(Device, Protocol):
    """A device that answers from a recording."""

    @property
    def ceilings(self) -> Ceilings:
        """What was measured of the recorded device."""

    def recall(self, job: MeasureJob) -> Outcome:
        """Return what was recorded for a job; a config that was not recorded is ``illegal``."""

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line why the recording may not speak for this kernel (other code); else ``""``.

        Raises:
            NoDevice: it holds nothing of this kernel and problem; the message lists what it has.
        """


def unrolled_calls(kernel_ms: float, fixed_ms: float) -> int:
    """Return how many calls one graph holds so that its fixed cost is at most 1% of a sample."""
    if kernel_ms <= 0.0:
        return MAX_UNROLLED_CALLS
    calls = math.ceil(round(100.0 * fixed_ms / kernel_ms, 6))
    return min(max(calls, 1), MAX_UNROLLED_CALLS)


MAX_UNROLLED_CALLS = 2000
