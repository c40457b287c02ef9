"""Times launches by replaying a graph of many of them, for kernels shorter than their launch.

The L2 is warm, and what one call leaves behind the next one finds.
"""

import statistics
from collections.abc import Callable
from typing import Any

import torch

from autotune_lab.devices.base import UntimableError, unrolled_calls
from autotune_lab.devices.cuda.events import EventTimer

# Replaying a graph costs about 6 us beyond its kernels (H200, CUDA 13, 2026).
FIXED_MS = 0.006
_FIRST_CALLS = 20


class GraphTimer:
    """Keeps the graph of the last launch, which is timed in several goes."""

    def __init__(self, events: EventTimer) -> None:
        self._events = events
        self._launch: Callable[[], Any] | None = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._calls = 0

    def time(
        self, launch: Callable[[], Any], count: int, *, prepare: Callable[[], None]
    ) -> list[float]:
        """Return ``count`` times in ms, each the mean over the calls of one replay.

        Raises:
            UntimableError: the launch can't be captured in a graph.
        """
        if self._graph is None or self._launch != launch:
            prepare()
            self._graph, self._calls = self._unrolled(launch)
            self._launch = launch
        samples = self._replay(self._graph, count, prepare)
        return [sample / self._calls for sample in samples]

    def forget(self) -> None:
        """Drop the graph, and with it the inputs that it refers to."""
        self._launch, self._graph = None, None

    def _unrolled(self, launch: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, int]:
        """Capture as many calls as it takes for the fixed cost to be 1% of a sample."""
        few = _captured(launch, _FIRST_CALLS)
        replay_ms = statistics.median(self._replay(few, 3, lambda: None))
        kernel_ms = max(replay_ms - FIXED_MS, 0.0) / _FIRST_CALLS
        calls = unrolled_calls(kernel_ms, FIXED_MS)
        if calls <= _FIRST_CALLS:
            return few, _FIRST_CALLS
        return _captured(launch, calls), calls

    def _replay(
        self, graph: torch.cuda.CUDAGraph, count: int, prepare: Callable[[], None]
    ) -> list[float]:
        return self._events.time(graph.replay, count, prepare=prepare, is_cold=False)


def _captured(launch: Callable[[], Any], calls: int) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(stream):
            # Not torch.cuda.graph, which empties the allocator's cache at each capture.
            graph.capture_begin()
            try:
                for _ in range(calls):
                    launch()
            finally:
                graph.capture_end()
    except RuntimeError as error:
        first = (str(error).splitlines() or [""])[0]
        raise UntimableError(
            f"launch can't be captured in a CUDA graph: {first}; use timer 'events'"
        ) from error
    torch.cuda.current_stream().wait_stream(stream)
    return graph
