"""The lab's own sampler; see docs/search.md for what it does and how it was judged."""

from collections.abc import Sequence

from autotune_lab.samplers.base import PriorTask
from autotune_lab.samplers.lab.sampler import LabSampler


def create(
    seed: int, *, prior: Sequence[PriorTask] = (), noise_floor: float | None = None
) -> LabSampler:
    """Return a sampler that needs far fewer evaluations than the others on spaces of kernels.

    Args:
        seed: of all its random choices.
        prior: what other contexts measured of the same kernel: their winners are tried first, and
            their times guide the search for as long as they agree with what is measured here.
        noise_floor: relative difference that a measurement can't tell; with one, the sampler stops
            by itself when no gain beyond it is in sight. By default it goes on to the end.
    """
    return LabSampler(seed, prior, noise_floor)
