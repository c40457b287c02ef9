"""Measures what the device reaches at best, so that a kernel's times can be placed under it.

Copies a large buffer and multiplies large matrices through torch; takes some three seconds.
"""

import functools
import logging
import statistics
from collections.abc import Callable
from typing import Any

import torch

from autotune_lab.devices.base import Ceilings, TimingDevice

_SAMPLES = 7
_COPY_BYTES = 2**30
# A square product of this side takes a large GPU a few ms and a small one a tenth of a second.
_LARGE_SIDE, _SMALL_SIDE, _LARGE_SM_COUNT = 8192, 4096, 64
_MATMUL_DTYPES = ("bfloat16", "float16", "float32")
_SCALED_DTYPES = ("float8_e4m3fn",)
_WARMUP_MS = 200.0

_log = logging.getLogger(__name__)


def measure_ceilings(device: TimingDevice) -> Ceilings:
    """Return copy bandwidth (GB/s, read plus written), matmul rates by dtype, and launch floor.

    float32 is multiplied as tf32, as the kernels of the catalog do; float8 with one scale for each
    operand, where torch can. A device that is no GPU has no ceilings.
    """
    if not device.torch_device.startswith("cuda"):
        return Ceilings(launch_floor_ms=device.launch_floor_ms())
    model = device.probe().model
    side = _LARGE_SIDE if model.sm_count >= _LARGE_SM_COUNT else _SMALL_SIDE
    ceilings = Ceilings(
        launch_floor_ms=device.launch_floor_ms(),
        copy_gbs=_copy_gbs(device, min(_COPY_BYTES, model.memory_bytes // 16)),
        matmul_tflops={
            **{name: _matmul_tflops(device, name, side) for name in _MATMUL_DTYPES},
            **_scaled_tflops(device, side),
        },
    )
    torch.cuda.empty_cache()
    return ceilings


def _copy_gbs(device: TimingDevice, size_bytes: int) -> float:
    source = torch.randn(size_bytes // 4, device=device.torch_device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _median_ms(device, lambda: target.copy_(source)) / 1e6


def _matmul_tflops(device: TimingDevice, dtype: str, side: int) -> float:
    a, b = (
        torch.randn(side, side, device=device.torch_device, dtype=getattr(torch, dtype))
        for _ in range(2)
    )
    multiply = functools.partial(torch.mm, a, b, out=torch.empty_like(a))
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        return 2 * side**3 / _median_ms(device, multiply) / 1e9
    finally:
        torch.set_float32_matmul_precision(precision)


def _scaled_tflops(device: TimingDevice, side: int) -> dict[str, float]:
    """Return the rates of the dtypes that only a scaled product takes; none where it has none."""
    found = {}
    one = torch.ones((), device=device.torch_device)
    for name in _SCALED_DTYPES:
        dtype = getattr(torch, name)
        a, b = (torch.randn(side, side, device=device.torch_device).to(dtype) for _ in range(2))
        multiply = functools.partial(
            torch._scaled_mm, a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )
        try:
            found[name] = 2 * side**3 / _median_ms(device, multiply) / 1e9
        except (RuntimeError, AttributeError) as error:
            _log.info("no ceiling for %s: %s", name, error)
    return found


def _median_ms(device: TimingDevice, launch: Callable[[], Any]) -> float:
    launch()
    device.load(_WARMUP_MS)
    times = device.time(launch, _SAMPLES, prepare=lambda: None, cache="cold", timer="events")
    return float(statistics.median(times))
