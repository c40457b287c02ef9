"""Finds launches whose work is not on the stream that is timed; they would seem to take no time.

The host can only see that the device was still busy after the launch's end, and a host under load
sees that by chance: waiting for an idle device took up to 0.16 ms on an H200 host with 14 compilers
running, which refused one config in ten. So the wait counts only where it could mean something.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from autotune_lab.devices.base import UntimableError

_TRIES = 5
_PENDING_MS = 0.1
# Streams that torch knows nothing of are created by extensions; no host is late by this much.
_PENDING_UNSEEN_MS = 2.0


def run_alone(launch: Callable[[], Any]) -> None:
    """Launch once and wait for the device.

    Raises:
        UntimableError: other streams than the current one are busy after the launch's end, each of
            several times; by 0.1 ms where the launch changed streams through torch, else by 2 ms.
    """
    for _ in range(_TRIES):
        torch.cuda.synchronize()
        end: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        with _noticing_streams() as chosen:
            launch()
        end.record()
        end.synchronize()
        pending_ms = _wait_ms()
        if pending_ms <= (_PENDING_MS if chosen else _PENDING_UNSEEN_MS):
            return
    raise UntimableError(
        f"launch uses another stream, whose work goes on for {pending_ms:.2f} ms after the timed "
        "one's end; launch on torch.cuda.current_stream() or make that wait"
    )


@contextlib.contextmanager
def _noticing_streams() -> Iterator[list[Any]]:
    """Yield a list of the streams that are made current through torch meanwhile."""
    chosen: list[Any] = []
    core: Any = torch._C
    set_stream = core._cuda_setStream

    def noticing(**stream: int) -> None:
        chosen.append(stream)
        set_stream(**stream)

    core._cuda_setStream = noticing
    try:
        yield chosen
    finally:
        core._cuda_setStream = set_stream


def _wait_ms() -> float:
    """Wait for all streams of the device and return how long that took."""
    began = time.perf_counter()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) * 1e3
