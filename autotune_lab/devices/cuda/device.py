"""One GPU, or a part of one, in the process that owns it."""

import functools
import os
import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from autotune_lab.devices.base import Capabilities, UntimableError
from autotune_lab.devices.cuda.events import EventTimer
from autotune_lab.devices.cuda.graphs import GraphTimer
from autotune_lab.devices.cuda.launches import count_launches
from autotune_lab.devices.cuda.nvml import Card
from autotune_lab.devices.cuda.partition import enter_part
from autotune_lab.devices.cuda.presence import CAPABILITIES, no_device
from autotune_lab.devices.cuda.software import read_environment
from autotune_lab.devices.cuda.streams import run_alone
from autotune_lab.errors import NoDevice, UsageError
from autotune_lab.records import Device, DeviceModel, Environment, Source, Telemetry

_FLOOR_LAUNCHES = 50
_LOAD_SIDE = 2048
_LOADS_PER_WAIT = 20


class CudaDevice:
    """A GPU that this process has made current.

    Args:
        index: torch's ordinal.
        part: ``""`` for the whole card, ``"64sm"`` for a green context of 64 SMs.

    Raises:
        UsageError: the part is no number of SMs.
        NoDevice: parts are not supported here.
    """

    def __init__(self, index: int, part: str) -> None:
        torch.cuda.set_device(index)
        self._index = index
        self._properties: Any = torch.cuda.get_device_properties(index)
        self._uuid = _uuid_of(self._properties, index)
        self._card = Card(self._uuid)
        # Kept for the life of the process: every launch runs in the part.
        self._part = enter_part(index, part) if part else None
        l2_bytes = int(getattr(self._properties, "L2_cache_size", 0))
        self._l2_bytes = l2_bytes
        self._events = EventTimer(self.torch_device, l2_bytes)
        self._graphs = GraphTimer(self._events)
        # Random, because multiplying ones draws less power than work does.
        self._matrices = [
            torch.randn(_LOAD_SIDE, _LOAD_SIDE, device=self.torch_device).half() for _ in range(3)
        ]
        self._busy_until = 0.0

    @property
    def capabilities(self) -> Capabilities:
        """It compiles, and a launch may poison its context."""
        return CAPABILITIES

    @property
    def torch_device(self) -> str:
        """Where inputs are made."""
        return f"cuda:{self._index}"

    @property
    def substitutes(self) -> Mapping[str, str]:
        """None: a dtype that the GPU lacks is a compile error."""
        return {}

    def probe(self) -> Device:
        """Return the identity and model that the driver reports."""
        return Device(self._model, uuid=self._uuid, source=Source.GPU)

    @functools.cached_property
    def _model(self) -> DeviceModel:
        part = self._part
        model = read_model(self._index)
        return (
            model if part is None else replace(model, sm_count=part.sm_count, partition=part.name)
        )

    def environment(self) -> Environment:
        """Return driver, runtime, torch, Triton, its compiler's build, and what steers it."""
        return read_environment(self._card.driver())

    def run(self, launch: Callable[[], Any]) -> None:
        """Launch once and wait for its end.

        Raises:
            UntimableError: it leaves work on another stream than the one that is timed.
        """
        run_alone(launch)

    def time(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        cache: str,
        timer: str,
    ) -> list[Any]:
        """Return each launch's time in ms, by two events around it or by an unrolled graph.

        Raises:
            UntimableError: the events run backwards, or the launch can't be captured.
        """
        if timer == "graph":
            if self._part:
                raise UntimableError("timer 'graph' can't time a part of a card; use 'events'")
            times = self._graphs.time(launch, count, prepare=prepare)
        else:
            times = self._events.time(launch, count, prepare=prepare, is_cold=cache == "cold")
        self._busy_until = time.perf_counter()
        return times

    def count_launches(self, launch: Callable[[], Any]) -> int | None:
        """Launch under the profiler and count what the device ran; None if it saw nothing."""
        return count_launches(launch)

    def launch_floor_ms(self) -> float | None:
        """Return the median time of an empty kernel between two events."""
        return self._floor_ms

    @functools.cached_property
    def _floor_ms(self) -> float:
        from autotune_lab.devices.cuda.probes import empty_kernel

        def launch() -> None:
            empty_kernel[(1,)](self._matrices[0])

        launch()
        times = self._events.time(launch, _FLOOR_LAUNCHES, prepare=lambda: None, is_cold=True)
        return statistics.median(times)

    def synchronize(self) -> None:
        """Wait for all launched work; a device error surfaces here.

        Raises:
            UsageError: a CUDA graph is being captured, which a synchronization would break.
        """
        _refuse_capture()
        self._graphs.forget()
        torch.cuda.synchronize(self._index)

    def load(self, duration_ms: float) -> None:
        """Multiply matrices for as long as the device was idle before, at most for a duration."""
        now = time.perf_counter()
        until = now + min(duration_ms / 1e3, now - self._busy_until)
        a, b, out = self._matrices
        while time.perf_counter() < until:
            for _ in range(_LOADS_PER_WAIT):
                torch.mm(a, b, out=out)
            torch.cuda.synchronize(self._index)
        self._busy_until = time.perf_counter()

    def telemetry(self) -> Telemetry:
        """Read the card through NVML; an empty reading where there is no NVML."""
        return self._card.telemetry()


def open_cuda(argument: str, part: str) -> CudaDevice:
    """Open the GPU of an ordinal or a UUID.

    Raises:
        NoDevice: it is not there, or torch can't use it.
        UsageError: the part makes no sense, or a CUDA graph is being captured.
    """
    if torch.version.cuda is None and torch.version.hip is None:
        raise no_device(f"torch {torch.__version__} is built without CUDA or ROCm")
    if not torch.cuda.is_available():
        raise no_device("the CUDA driver finds no usable GPU")
    _refuse_capture()
    return CudaDevice(_ordinal(argument), part)


def read_model(index: int) -> DeviceModel:
    """Return the device model of a whole GPU, or MIG slice, that torch sees under an ordinal."""
    properties: Any = torch.cuda.get_device_properties(index)
    is_amd = torch.version.hip is not None
    mig_profile = re.search(r"MIG (\S+)", properties.name)
    return DeviceModel(
        name=properties.name,
        vendor="amd" if is_amd else "nvidia",
        architecture=_architecture(properties, is_amd=is_amd),
        sm_count=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        partition=mig_profile[1] if mig_profile else "",
        power_limit_w=Card(_uuid_of(properties, index)).power_limit_w(),
        l2_bytes=int(getattr(properties, "L2_cache_size", 0)),
        max_shared_bytes=_max_shared_bytes(properties, index),
        warp_size=properties.warp_size,
        max_threads_per_sm=properties.max_threads_per_multi_processor,
        registers_per_sm=int(getattr(properties, "regs_per_multiprocessor", 65536)),
    )


def read_device(index: int) -> Device:
    """Return the whole GPU that torch sees under an ordinal, without taking it."""
    properties: Any = torch.cuda.get_device_properties(index)
    return Device(read_model(index), uuid=_uuid_of(properties, index), source=Source.GPU)


def read_driver(index: int) -> str:
    """Return the version of the driver of a GPU, or ``""``."""
    return Card(_uuid_of(torch.cuda.get_device_properties(index), index)).driver()


def _refuse_capture() -> None:
    cuda: Any = torch.cuda
    if cuda.is_initialized() and cuda.is_current_stream_capturing():
        raise UsageError("can't tune while a CUDA graph is being captured; tune before the capture")


def _ordinal(argument: str) -> int:
    count = torch.cuda.device_count()
    if argument.isdecimal():
        if int(argument) < count:
            return int(argument)
        raise NoDevice(f"no cuda:{argument}; this process sees {count} GPUs, from cuda:0")
    uuids = [_uuid_of(torch.cuda.get_device_properties(i), i) for i in range(count)]
    if argument and argument not in uuids:
        raise NoDevice(f"no cuda:{argument}; this process sees {', '.join(uuids)}")
    return uuids.index(argument) if argument else 0


def _uuid_of(properties: Any, index: int) -> str:
    """Return ``GPU-...`` or ``MIG-...``; the variable tells a slice from its card."""
    visible = [e.strip() for e in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    if index < len(visible) and visible[index].startswith("MIG-"):
        return visible[index]
    return f"GPU-{str(properties.uuid).removeprefix('GPU-')}"


def _architecture(properties: Any, *, is_amd: bool) -> str:
    if is_amd:
        return str(properties.gcnArchName).split(":")[0]
    return f"sm_{properties.major}{properties.minor}"


def _max_shared_bytes(properties: Any, index: int) -> int:
    """Return the most shared memory that a block may ask for, by opt-in where there is one."""
    opt_in = getattr(properties, "shared_memory_per_block_optin", 0)
    if opt_in:
        return int(opt_in)
    from triton.runtime import driver

    return int(driver.active.utils.get_device_properties(index)["max_shared_mem"])
