"""Draws samples until the median is known well enough, and refuses what is not a time.

Knows no device: samples come from a function, the clock is an argument.
"""

import math
import numbers
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autotune_lab.measuring.statistics import median_interval, relative_spread
from autotune_lab.records import Protocol

# A clock cycle of the fastest GPU takes 0.3 ns, and no launch ends within three of them.
SHORTEST_MS = 1e-6
LEAST_SAMPLES = 3
_STABLE_AFTER = 40
_STABLE_CHANGE = 0.05
_GROWTH = 1.5


class BadTimeError(ValueError):
    """The timer gave something that is not the time of a launch."""

    def __init__(self, raw: Any) -> None:
        self.raw = str(raw)
        kind = "" if isinstance(raw, int | float) else f" ({type(raw).__name__})"
        super().__init__(f"the timer gave {raw!r}{kind}, which is not a time in ms")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Samples in the order taken; given up when the config was clearly too slow."""

    samples_ms: tuple[float, ...]
    is_given_up: bool = False


def as_time(raw: Any) -> float:
    """Return a raw value as a time in ms.

    Raises:
        BadTimeError: it is no finite number, or shorter than any launch can be.
    """
    if isinstance(raw, bool) or not isinstance(raw, numbers.Real):
        raise BadTimeError(raw)
    value = float(raw)
    if not math.isfinite(value) or value < SHORTEST_MS:
        raise BadTimeError(raw)
    return value


def sample(
    draw: Callable[[int], Sequence[Any]],
    protocol: Protocol,
    *,
    give_up_ms: float | None,
    clock: Callable[[], float],
) -> Sampling:
    """Draw samples until the median's interval is narrow, the noise stable, or the budget spent.

    Three samples are taken whatever they cost, then ``min_samples`` if the budget allows.

    Args:
        draw: returns that many raw times in ms.
        protocol: with the bounds.
        give_up_ms: a median above this ends it after three samples.
        clock: seconds.

    Raises:
        BadTimeError: a sample is not a time.
    """
    started = clock()
    samples: list[float] = []
    count = min(LEAST_SAMPLES, protocol.max_samples)
    while count > 0:
        samples += [as_time(raw) for raw in draw(count)]
        if give_up_ms is not None and statistics.median(samples) > give_up_ms:
            return Sampling(tuple(samples), is_given_up=True)
        if is_settled(samples, protocol):
            break
        count = _next_count(len(samples), (clock() - started) * 1e3, protocol)
    return Sampling(tuple(samples))


def is_settled(samples: Sequence[float], protocol: Protocol) -> bool:
    """Tell whether more samples would not say more: a narrow interval, or a noise that stays."""
    if len(samples) < protocol.min_samples:
        return False
    width = median_interval(samples).relative_half_width
    if width is None:
        return False
    return width <= protocol.target_relative_interval or _is_stable(samples)


def _is_stable(samples: Sequence[float]) -> bool:
    """Tell whether the spread of all samples is that of the first two thirds."""
    if len(samples) < _STABLE_AFTER:
        return False
    now, before = relative_spread(samples), relative_spread(samples[: 2 * len(samples) // 3])
    return abs(now - before) <= _STABLE_CHANGE * now


def _next_count(taken: int, elapsed_ms: float, protocol: Protocol) -> int:
    """Return how many samples to draw next, by what the budget still buys."""
    wanted = max(protocol.min_samples, 2 * LEAST_SAMPLES, math.ceil(taken * _GROWTH))
    wanted = min(wanted, protocol.max_samples) - taken
    if elapsed_ms <= 0.0:
        return wanted
    affordable = int((protocol.budget_ms - elapsed_ms) / (elapsed_ms / taken))
    return min(wanted, affordable)
