"""Events as plain lines, for logs and terminals that can't redraw."""

import time
from collections import Counter
from collections.abc import Callable
from typing import TextIO

from autotune_lab.records import Context
from autotune_lab.tuning.events import (
    ContextFailed,
    ContextOpened,
    Event,
    Notice,
    RoundMeasured,
    ScreeningEnded,
    TrialFinished,
    WinnerPicked,
)

INDENT = "  "


class PlainLines:
    """An observer that writes one line per event; a context's trials once in ``interval_s``."""

    def __init__(
        self,
        stream: TextIO,
        *,
        interval_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._interval_s = interval_s
        self._clock = clock
        self._last: dict[str, float] = {}
        self._open: dict[str, str] = {}  # device model -> the context that is worked on

    def __call__(self, event: Event) -> None:
        """Write an event, unless it is a trial and another was written just now."""
        if isinstance(event, ContextOpened):
            self._open[event.context.model.id] = event.context.label
        if isinstance(event, TrialFinished) and not self._is_due(event):
            return
        if text := describe(event):
            self._stream.write(self._labelled(event, text) + "\n")
            self._stream.flush()
        if isinstance(event, WinnerPicked):
            self._open.pop(event.pick.context.model.id, None)

    def _is_due(self, event: TrialFinished) -> bool:
        now, label = self._clock(), event.context.label
        since_s = now - self._last.get(label, float("-inf"))
        if event.finished < event.budget and since_s < self._interval_s:
            return False
        self._last[label] = now
        return True

    def _labelled(self, event: Event, text: str) -> str:
        """Say which context a line is about where several are worked on side by side."""
        context = _context_of(event)
        if context is None or len(self._open) < 2 or not text.startswith(INDENT):
            return text
        return f"{INDENT}{context.label}: {text.strip()}"


def _context_of(event: Event) -> Context | None:
    if isinstance(event, WinnerPicked):
        return event.pick.context
    return getattr(event, "context", None)


def describe(event: Event) -> str:
    """Return an event as one line; empty for events that need none."""
    match event:
        case ContextOpened():
            notice = event.context.source.notice
            known = f", {event.known} already stored" if event.known else ""
            return (
                f"{event.context.label}: {event.space_size} configs, budget {event.budget}{known}"
                + (f" [{notice}]" if notice else "")
            )
        case TrialFinished():
            best = event.best.screen_ms if event.best else None
            shown = f"best {best:.4f} ms" if best is not None else "none ran yet"
            return f"  {event.finished}/{event.budget} {shown} ({tally(event.states)})"
        case ScreeningEnded():
            return f"  screening ended: {event.reason} ({tally(event.states)})"
        case RoundMeasured():
            if event.round in (1, event.rounds):
                return (
                    f"  playoff round {event.round}/{event.rounds}, {event.candidates} candidates"
                )
            return ""
        case WinnerPicked():
            return f"  {describe_pick(event)}"
        case ContextFailed():
            return f"{event.task}: {event.error}"
        case Notice():
            return f"note: {event.text}"


def describe_pick(event: WinnerPicked) -> str:
    """Return the winner with its interval, its rivals and how it was found."""
    pick = event.pick
    interval = ""
    if pick.low_ms is not None and pick.high_ms is not None:
        interval = f" [{pick.low_ms:.4f}, {pick.high_ms:.4f}]"
    tied = len(pick.tied) - 1
    rivals = f", {tied} can't be told apart from it" if tied > 0 else ""
    flags = f" ({', '.join(pick.flags)})" if pick.flags else ""
    origin = "stored winner" if event.stored else "winner"
    return f"{origin}: {pick.config}: {pick.median_ms:.4f} ms{interval}{rivals}{flags}"


def tally(states: Counter[str]) -> str:
    """Return ``"120 ok, 54 out_of_resources"``, most frequent first."""
    ordered = sorted(states.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{count} {state}" for state, count in ordered) or "no trials"
