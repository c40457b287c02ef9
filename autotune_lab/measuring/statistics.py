"""What a handful of samples says about the median: its interval without assuming a distribution.

Kernel times have long right tails, so means and standard deviations mislead here.
"""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and its two-sided confidence interval; None where there are too few samples."""

    median: float
    low: float | None = None
    high: float | None = None

    @property
    def relative_half_width(self) -> float | None:
        """Half of the interval's width over the median."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2.0 / self.median


def median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Return the median with its distribution-free interval between two order statistics.

    The number of samples below the true median is binomial with p = 1/2, whatever the distribution:
    Hahn and Meeker, *Statistical Intervals*, 1991, section 5.2. The interval is symmetric in ranks
    and covers at least ``confidence``; for 95% that takes six samples.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples, so no median")
    ordered = sorted(samples)
    median = statistics.median(ordered)
    rank = _lower_rank(len(ordered), confidence)
    if rank == 0:
        return Interval(median)
    return Interval(median, ordered[rank - 1], ordered[-rank])


def relative_spread(samples: Sequence[float]) -> float:
    """Return the interquartile range over the median; 0 for a single sample."""
    if len(samples) < 2:
        return 0.0
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return (high - low) / median


@functools.cache
def _lower_rank(count: int, confidence: float) -> int:
    """Return the largest rank r for which [x(r), x(n+1-r)] covers the median; 0 if none does."""
    tail = 0
    allowed = (1.0 - confidence) / 2.0 * 2**count
    for rank in range(count // 2 + 1):
        tail += math.comb(count, rank)
        if tail > allowed:
            return rank
    return count // 2
