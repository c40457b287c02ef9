"""Triton's interpreter on CPU tensors: a kernel's semantics, never its speed.

Its process is started with TRITON_INTERPRET=1, which Triton reads when a kernel is decorated. Known
limits, pinned by a test: it multiplies bfloat16 matrices wrongly (so bfloat16 tensors are computed
in float32 here), takes num_warps=3, and does not notice a write past a view (guard zones do).
"""

import os
import platform
import time
from collections.abc import Callable, Mapping
from typing import Any

from autotune_lab.devices.base import Capabilities
from autotune_lab.errors import NoDevice, UsageError
from autotune_lab.records import Device, DeviceModel, Environment, Source, Telemetry

CAPABILITIES = Capabilities(compiles=False, recorded=False, isolated=True)
VARIABLES = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}

_NO_LIMIT_BYTES = 2**31 - 1


class InterpreterDevice:
    """Runs launches one element at a time and takes the wall-clock time of that."""

    @property
    def capabilities(self) -> Capabilities:
        """It runs launches, in a process with the interpreter's variable set."""
        return CAPABILITIES

    @property
    def torch_device(self) -> str:
        """Inputs are CPU tensors."""
        return "cpu"

    @property
    def substitutes(self) -> Mapping[str, str]:
        """The interpreter keeps bfloat16 as 16-bit integers and multiplies those in a dot."""
        return {"bfloat16": "float32"}

    def probe(self) -> Device:
        """Return a model of its own, which no GPU shares."""
        model = DeviceModel(
            name="Triton interpreter",
            vendor="none",
            architecture="interpreter",
            sm_count=1,
            memory_bytes=0,
            max_shared_bytes=_NO_LIMIT_BYTES,
        )
        return Device(model, uuid=f"interpreter-{platform.node()}", source=Source.INTERPRETER)

    def environment(self) -> Environment:
        """Return the versions that a result may depend on."""
        import torch
        import triton

        return Environment(
            runtime=f"numpy {_version('numpy')}", torch=torch.__version__, triton=triton.__version__
        )

    def run(self, launch: Callable[[], Any]) -> None:
        """Launch once; it has ended when it returns."""
        launch()

    def time(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        cache: str,
        timer: str,
    ) -> list[Any]:
        """Return wall-clock times in ms; there is no L2 to flush and no graph to unroll."""
        del cache, timer
        times = []
        for _ in range(count):
            prepare()
            started = time.perf_counter()
            launch()
            times.append((time.perf_counter() - started) * 1e3)
        return times

    def count_launches(self, launch: Callable[[], Any]) -> int | None:
        """Return None: nothing here is what a GPU would run."""
        del launch
        return None

    def launch_floor_ms(self) -> float | None:
        """Return None: no launch is queued here."""
        return None

    def synchronize(self) -> None:
        """Return at once: a launch has ended when it returns."""

    def load(self, duration_ms: float) -> None:
        """Return at once: there is no clock to raise."""

    def telemetry(self) -> Telemetry:
        """Return an empty reading."""
        return Telemetry()


def missing() -> str:
    """Say whether Triton is missing, without importing it."""
    from importlib.util import find_spec

    return "" if find_spec("triton") else "triton is not installed"


def open(argument: str, part: str) -> InterpreterDevice:  # noqa: A001 - the plug-in contract's name
    """Open the interpreter in a process that was started for it.

    Raises:
        UsageError: it was given an argument or a part.
        NoDevice: Triton is missing, or the process was started without TRITON_INTERPRET=1.
    """
    if argument or part:
        raise UsageError(f"the interpreter has no argument or part, but got {argument or part!r}")
    if fault := missing():
        raise NoDevice(f"no interpreter: {fault}; install it, or use --device replay")
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise NoDevice(
            "the interpreter needs TRITON_INTERPRET=1 before any kernel is loaded; set it when "
            "the process starts"
        )
    return InterpreterDevice()


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)
