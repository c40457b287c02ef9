"""What is done with a device, in whichever process owns it: say what it is, and measure jobs on it.

Loads each kernel once and keeps a problem's inputs and reference between jobs.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from autotune_lab import catalog
from autotune_lab.definitions import KernelDefinition, Problem
from autotune_lab.devices.base import Ceilings, Device, RecordedDevice, TimingDevice
from autotune_lab.measuring.ceilings import measure_ceilings
from autotune_lab.measuring.inputs import ProblemCache
from autotune_lab.measuring.protocol import measure
from autotune_lab.records import Hello, KernelIdentity, MeasureJob, Outcome


class Session:
    """One opened device and what was prepared for it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._definitions: dict[str, KernelDefinition] = {}
        self._cache = ProblemCache()

    def hello(self) -> Hello:
        """Say which device this is, under which software, and what a launch takes at least.

        A recorded device also says what else bounds its times: it was measured once and for all.

        Raises:
            NoDevice: it is not there, or its driver is missing.
        """
        if self._device.capabilities.recorded:
            return self._told(cast("RecordedDevice", self._device).ceilings)
        floor_ms = cast("TimingDevice", self._device).launch_floor_ms()
        return self._told(Ceilings(launch_floor_ms=floor_ms))

    def ceilings(self) -> Hello:
        """Say the same with what the device reaches at best, measured now; takes seconds.

        Raises:
            NoDevice: it is not there, or its driver is missing.
        """
        if self._device.capabilities.recorded:
            return self.hello()
        return self._told(measure_ceilings(cast("TimingDevice", self._device)))

    def _told(self, ceilings: Ceilings) -> Hello:
        return Hello(
            device=self._device.probe(),
            environment=self._device.environment(),
            pid=os.getpid(),
            launch_floor_ms=ceilings.launch_floor_ms,
            copy_gbs=ceilings.copy_gbs,
            matmul_tflops=ceilings.matmul_tflops,
        )

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line what is doubtful about a recorded device's answers; ``""`` if nothing is.

        Raises:
            NoDevice: it has nothing of this kernel and problem.
        """
        if not self._device.capabilities.recorded:
            return ""
        return cast("RecordedDevice", self._device).caveat(kernel, problem)

    def measure(self, job: MeasureJob, *, progress: Callable[[int], None] | None = None) -> Outcome:
        """Measure a job; how it fails is its outcome.

        Args:
            job: what to measure.
            progress: told the number of timed launches begun, before each of them.

        Raises:
            AutotuneLabError: the kernel's file can't be used, or its reference contradicts itself.
        """
        started = time.perf_counter()
        if self._device.capabilities.recorded:
            return cast("RecordedDevice", self._device).recall(job)
        device = _Counting(cast("TimingDevice", self._device), progress)
        outcome = measure(self._definition(job.kernel), device, job, cache=self._cache)
        return replace(outcome, elapsed_ms=(time.perf_counter() - started) * 1e3)

    def _definition(self, reference: str) -> KernelDefinition:
        if reference not in self._definitions:
            self._definitions[reference] = catalog.load(reference)
        return self._definitions[reference]


class _Counting:
    """A timing device that reports each launch before it is made, outside of the timed window."""

    def __init__(self, device: TimingDevice, progress: Callable[[int], None] | None) -> None:
        self._device = device
        self._progress = progress
        self.launches = 0

    def time(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        cache: str,
        timer: str,
    ) -> list[Any]:
        def prepare_counted() -> None:
            prepare()
            self.launches += 1
            if self._progress is not None:
                self._progress(self.launches)

        return self._device.time(launch, count, prepare=prepare_counted, cache=cache, timer=timer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)
