"""Reads NVIDIA's management library about one card; sets nothing, tells nothing without it."""

from collections.abc import Callable
from typing import Any

from autotune_lab.records import Telemetry

# nvml.h, nvmlClocksEventReason*
_REASONS = {
    0x01: "gpu_idle",
    0x02: "applications_clocks",
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
    0x100: "display_clocks",
}
_SM_CLOCK, _MEMORY_CLOCK, _GPU_TEMPERATURE = 1, 2, 0


class Card:
    """One card, or the card that a MIG slice is of, by UUID; a reading that fails is None."""

    def __init__(self, uuid: str) -> None:
        self._nvml: Any = None
        self._handle: Any = None
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            if uuid.startswith("MIG-"):
                handle = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        except pynvml.NVMLError:
            return
        self._nvml, self._handle = pynvml, handle

    def driver(self) -> str:
        """Return the driver's version, or ``""``."""
        version = self._read(lambda nvml, _card: nvml.nvmlSystemGetDriverVersion())
        return version.decode() if isinstance(version, bytes) else str(version or "")

    def power_limit_w(self) -> int:
        """Return the enforced power cap in W, or 0."""
        limit_mw = self._read(lambda nvml, card: nvml.nvmlDeviceGetEnforcedPowerLimit(card))
        return round((limit_mw or 0) / 1000)

    def telemetry(self) -> Telemetry:
        """Read clocks, power, temperature, throttle reasons and other processes."""
        if self._handle is None:
            return Telemetry()
        power_mw = self._read(lambda nvml, card: nvml.nvmlDeviceGetPowerUsage(card))
        return Telemetry(
            sm_clock_mhz=self._read(lambda n, card: n.nvmlDeviceGetClockInfo(card, _SM_CLOCK)),
            memory_clock_mhz=self._read(
                lambda n, card: n.nvmlDeviceGetClockInfo(card, _MEMORY_CLOCK)
            ),
            power_w=None if power_mw is None else power_mw / 1000,
            temperature_c=self._read(
                lambda n, card: n.nvmlDeviceGetTemperature(card, _GPU_TEMPERATURE)
            ),
            throttle_reasons=self._throttle_reasons(),
            other_processes=self._other_processes(),
        )

    def _throttle_reasons(self) -> tuple[str, ...]:
        mask = self._read(lambda n, card: n.nvmlDeviceGetCurrentClocksEventReasons(card))
        if mask is None:  # drivers before 535 know the older name
            mask = self._read(lambda n, card: n.nvmlDeviceGetCurrentClocksThrottleReasons(card))
        return tuple(name for bit, name in _REASONS.items() if (mask or 0) & bit)

    def _other_processes(self) -> int:
        processes = self._read(lambda n, card: n.nvmlDeviceGetComputeRunningProcesses(card))
        return count_others({process.pid for process in processes or ()})

    def _read(self, reading: Callable[[Any, Any], Any]) -> Any:
        if self._nvml is None:
            return None
        try:
            return reading(self._nvml, self._handle)
        except self._nvml.NVMLError:
            return None


def count_others(pids: set[int]) -> int:
    """Count the processes on the card that are not this one, which surely is on it.

    In a container the library may number processes as the host does, or show none: a list without
    our own number holds us under another one.
    """
    return max(0, len(pids) - 1)
