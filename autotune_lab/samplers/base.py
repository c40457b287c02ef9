"""The contract of a sampler plug-in: a file ``samplers/<name>.py`` with ``create(seed) -> Sampler``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from autotune_lab.records import TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import BoundSpace


@dataclass(frozen=True, slots=True)
class Observation:
    """What became of one config; ``time_ms`` only where it ran correctly (``ok`` or ``pruned``)."""

    config: Config
    state: TrialState
    time_ms: float | None = None
    features: dict[str, float] = field(default_factory=dict)


class Sampler(Protocol):
    """Proposes configs; bound to one context by its first call.

    Obligations: only valid configs of the space; never one that is in ``history`` or was proposed
    before and is still pending; an empty list means that nothing worth trying is left. The same seed
    and the same history give the same proposals. A sampler may keep a cursor into ``history``, which
    only grows.
    """

    def propose(
        self, space: BoundSpace, history: Sequence[Observation], pending: Sequence[Config], count: int
    ) -> list[Config]:
        """Return up to ``count`` configs that are neither in ``history`` nor in ``pending``."""
