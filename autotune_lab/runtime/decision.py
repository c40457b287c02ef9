"""What a look-up answers: a config, the step of the ladder that gave it, and why."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from autotune_lab.spaces.config import Config
from autotune_lab.spaces.values import Value


class Step(enum.StrEnum):
    """The rungs of the ladder, from the best evidence down to none."""

    EXACT = "exact"
    NEAREST = "nearest"
    SAME_ARCHITECTURE = "same_architecture"
    PORTFOLIO = "portfolio"
    DEFAULT = "default"
    TUNED_NOW = "tuned_now"


@dataclass(frozen=True, slots=True)
class Decision:
    """Which config is launched for a problem, and on what grounds.

    Attributes:
        config: None if the kernel's own defaults are all there is.
        problem: what was asked for.
        tuned_problem: what the config was tuned for; None on the last two steps.
        device: slug of the device model that it was tuned on.
        distance_octaves: how far the two problems are apart; 0 if they are one.
        reason: why no better step gave the answer.
        refused: configs that were passed over on the way, each with its reason.
        stale: what has changed since the config was tuned.
    """

    step: Step
    config: Config | None
    problem: Mapping[str, Value]
    tuned_problem: Mapping[str, Value] | None = None
    device: str = ""
    distance_octaves: float = 0.0
    reason: str = ""
    refused: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    def __str__(self) -> str:
        asked = ",".join(f"{name}={value}" for name, value in self.problem.items())
        said = [f"{self.step}: {self.config or 'the kernel as it is declared'} for {asked}"]
        if self.tuned_problem is not None and self.distance_octaves:
            tuned = ",".join(f"{name}={value}" for name, value in self.tuned_problem.items())
            said.append(f"tuned for {tuned}, {self.distance_octaves:.2g} octaves away")
        said += [self.reason] if self.reason else []
        said += [f"refused {one}" for one in self.refused]
        said += [f"stale: {one}" for one in self.stale]
        return "; ".join(said)
