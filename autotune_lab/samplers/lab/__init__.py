"""The lab's own sampler; see docs/search.md for what it does and how it was judged."""

from autotune_lab.samplers.lab.sampler import LabSampler


def create(seed: int, *, noise_floor: float | None = None) -> LabSampler:
    """Return a sampler that needs far fewer evaluations than the others on spaces of kernels.

    Args:
        seed: of all its random choices.
        noise_floor: relative gain below which it stops by itself; by default it never does.
    """
    return LabSampler(seed, noise_floor)
