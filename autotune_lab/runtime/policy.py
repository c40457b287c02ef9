"""What the user of a table wants where it has no good answer."""

from dataclasses import dataclass
from typing import Literal

from autotune_lab.errors import UsageError

OnMiss = Literal["default", "error", "tune"]
OnStale = Literal["use", "fallback", "error"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How far a look-up may go.

    Attributes:
        nearest_octaves: how far the nearest tuned problem may be away, as the sum over its integer
            fields of ``|log2(asked / tuned)|``; 0 never looks at neighbours.
        on_miss: launch the default, raise, or tune now, where no step of the ladder has an answer.
        on_stale: use a winner of another Triton, driver or source; look further; or raise.
    """

    nearest_octaves: float = 1.0
    on_miss: OnMiss = "default"
    on_stale: OnStale = "use"

    def __post_init__(self) -> None:
        if self.on_miss not in ("default", "error", "tune"):
            raise UsageError(f"on_miss is {self.on_miss!r}; use 'default', 'error' or 'tune'")
        if self.on_stale not in ("use", "fallback", "error"):
            raise UsageError(f"on_stale is {self.on_stale!r}; use 'use', 'fallback' or 'error'")
        if not self.nearest_octaves >= 0:
            raise UsageError(f"nearest_octaves is {self.nearest_octaves!r}; use 0 or more")
