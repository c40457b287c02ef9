"""How a message was lost: the one value that stands for a reply that will not come."""

import signal
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Lost:
    """A message that will get no reply, because its child is gone.

    Attributes:
        kind: ``"timeout"`` (it was killed at its deadline), ``"signal"`` or ``"exit"`` (it died of
            itself), ``"protocol"`` (it answered with something that is no frame, and was killed).
        code: the signal's number or the exit code; None where there is neither.
        log_tail: the last lines that it wrote to stdout and stderr during this message.
        progress: the last count that it reported, 0 if none.
        before_ready: it never finished starting, so the message is not to blame.
    """

    kind: Literal["timeout", "signal", "exit", "protocol"]
    code: int | None
    log_tail: str
    elapsed_ms: float
    progress: int = 0
    before_ready: bool = False

    @property
    def was_killed(self) -> bool:
        """It was ended from outside: by a person, or by a machine that ran out of memory."""
        return self.kind == "signal" and self.code == signal.SIGKILL

    def __str__(self) -> str:
        match self.kind:
            case "timeout":
                return f"killed after {self.elapsed_ms / 1e3:.1f} s"
            case "signal":
                return f"died of signal {_signal_name(self.code or 0)}"
            case "exit":
                return f"ended with exit code {self.code}"
            case "protocol":
                return "broke the protocol with its parent"


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
