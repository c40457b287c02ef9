"""Times launches by two device events around each, with a cold or a warm L2.

The device spins while the host queues a whole batch, so that it never waits for the host inside a
timed window; queueing one launch costs the host 20 to 60 us, more than many kernels take.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from autotune_lab.devices.base import UntimableError

# torch annotates events and streams only in part.
_cuda: Any = torch.cuda

_SPIN_HZ = 2e9
_FIRST_HOST_MS = 0.15
_MOST_HOST_MS = 2.0
_LEAST_FLUSH_BYTES = 2**26
_LARGEST_BATCH = 50


class Stamp(Protocol):
    """A recorded device event."""

    def elapsed_time(self, end_event: Any) -> float:
        """Return the ms from this event to a later one."""


class EventTimer:
    """Times batches of launches on the current stream of one device.

    Args:
        device: the torch device.
        l2_bytes: a buffer of twice this size is written between launches when they are to be cold.
    """

    def __init__(self, device: str, l2_bytes: int) -> None:
        flush_bytes = max(2 * l2_bytes, _LEAST_FLUSH_BYTES)
        self._flush = torch.empty(flush_bytes // 4, dtype=torch.int32, device=device)
        self._host_ms = _FIRST_HOST_MS

    def time(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        is_cold: bool,
    ) -> list[float]:
        """Return ``count`` times in ms.

        Raises:
            UntimableError: the events run backwards.
        """
        times: list[float] = []
        while len(times) < count:
            batch = min(_LARGEST_BATCH, count - len(times))
            times += self._time_batch(launch, batch, prepare=prepare, is_cold=is_cold)
        return times

    def _time_batch(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        is_cold: bool,
    ) -> list[float]:
        """Time one batch; once more if the device had caught up with the host before its end."""
        for _ in range(2):
            starts, ends, kept_ahead = self._queue(launch, count, prepare, is_cold=is_cold)
            torch.cuda.synchronize()
            times = elapsed(starts, ends)
            if kept_ahead:
                break
        return times

    def _queue(
        self, launch: Callable[[], Any], count: int, prepare: Callable[[], None], *, is_cold: bool
    ) -> tuple[list[Any], list[Any], bool]:
        starts = [_cuda.Event(enable_timing=True) for _ in range(count)]
        ends = [_cuda.Event(enable_timing=True) for _ in range(count)]
        _cuda._sleep(int(count * self._host_ms * 1e-3 * _SPIN_HZ))
        began = time.perf_counter()
        for start, end in zip(starts, ends, strict=True):
            prepare()
            if is_cold:
                self._flush.zero_()
            start.record()
            launch()
            end.record()
        host_ms = (time.perf_counter() - began) * 1e3 / count
        kept_ahead = not starts[-1].query()
        self._host_ms = min(max(1.5 * host_ms, 0.5 * self._host_ms), _MOST_HOST_MS)
        return starts, ends, kept_ahead


def elapsed(starts: Sequence[Stamp], ends: Sequence[Stamp]) -> list[float]:
    """Return the ms between each pair of events.

    Raises:
        UntimableError: a pair runs backwards, so no event of this host can be believed.
    """
    times = [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]
    if (least := min(times)) < 0.0:
        raise UntimableError(
            f"device events run backwards here ({least:g} ms), so this host can't time by events; "
            "use timer 'graph' or another host"
        )
    return times
