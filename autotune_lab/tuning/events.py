"""What a study tells whoever watches it: one frozen value for each thing that happens."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from autotune_lab.errors import AutotuneLabError
from autotune_lab.records import Context, Pick, Trial


@dataclass(frozen=True, slots=True)
class ContextOpened:
    """Work on a context begins; ``known`` of its configs were already in the store."""

    context: Context
    context_id: str
    space_size: int
    budget: int
    known: int


@dataclass(frozen=True, slots=True)
class TrialFinished:
    """A trial was stored; ``best`` is the fastest screened trial so far."""

    context: Context
    trial: Trial
    best: Trial | None
    states: Counter[str]
    finished: int
    budget: int


@dataclass(frozen=True, slots=True)
class ScreeningEnded:
    """Screening of a context ended, and why (``space exhausted``, ``trial budget spent``)."""

    context: Context
    reason: str
    states: Counter[str]


@dataclass(frozen=True, slots=True)
class RoundMeasured:
    """A playoff round was stored."""

    context: Context
    round: int
    rounds: int
    candidates: int


@dataclass(frozen=True, slots=True)
class WinnerPicked:
    """The playoff ended with a winner; ``stored`` when an earlier pick still stands."""

    pick: Pick
    stored: bool


@dataclass(frozen=True, slots=True)
class ContextFailed:
    """A context ended without a winner; the study goes on."""

    task: str
    error: AutotuneLabError


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know, in one line."""

    text: str


Event = (
    ContextOpened
    | TrialFinished
    | ScreeningEnded
    | RoundMeasured
    | WinnerPicked
    | ContextFailed
    | Notice
)
Observer = Callable[[Event], None]
