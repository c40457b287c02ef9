"""The live display of a study: best so far, trials by state, device clock, time left."""

import sys
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from autotune_lab.tuning.events import (
    ContextOpened,
    Event,
    Observer,
    RoundMeasured,
    TrialFinished,
    WinnerPicked,
)
from autotune_lab.tuning.lines import PlainLines, describe, tally


class LiveDisplay:
    """An observer that redraws in place; a context manager, so that the terminal is given back."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._status = Text("")
        self._live = Live(self._render(), console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case ContextOpened():
                self._open(event)
            case TrialFinished():
                self._advance(event)
            case RoundMeasured():
                self._status = Text(
                    f"playoff round {event.round} of {event.rounds}, {event.candidates} candidates"
                )
            case WinnerPicked():
                self._say(event)
                self._close(event.pick.context.model.id)
            case _:
                self._say(event)
        self._live.update(self._render())

    def _open(self, event: ContextOpened) -> None:
        """Show a bar for the context, in place of the last one of its device model."""
        context = event.context
        self._close(context.model.id)
        self._say(event)
        self._tasks[context.model.id] = self._progress.add_task(
            f"{context.kernel.name} on {context.model.slug}",
            total=event.budget,
            completed=event.known,
        )

    def _close(self, model_id: str) -> None:
        if (old := self._tasks.pop(model_id, None)) is not None:
            self._progress.remove_task(old)

    def _advance(self, event: TrialFinished) -> None:
        task = self._tasks.get(event.context.model.id)
        if task is not None:
            self._progress.update(task, completed=event.finished, total=event.budget)
        parts = [tally(event.states)]
        if event.best is not None:
            parts.insert(0, f"best {event.best.screen_ms:.4f} ms  {event.best.config}")
        measurements = event.trial.measurements
        clock = measurements[-1].telemetry.sm_clock_mhz if measurements else None
        if clock is not None:
            parts.append(f"SM clock {clock} MHz")
        self._status = Text("\n".join(parts))

    def _say(self, event: Event) -> None:
        if line := describe(event):
            self._console.print(Text(line))

    def _render(self) -> Group:
        return Group(self._progress, self._status)


def observer(*, as_json: bool) -> "LiveDisplay | PlainObserver":
    """Return a live display on a terminal, plain lines elsewhere and beside ``--json``."""
    if sys.stderr.isatty() and not as_json:
        return LiveDisplay(Console(stderr=True))
    return PlainObserver(PlainLines(sys.stderr))


class PlainObserver:
    """Plain lines with the same context manager as the live display."""

    def __init__(self, lines: Observer) -> None:
        self._lines = lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        return None

    def __call__(self, event: Event) -> None:
        """Write an event."""
        self._lines(event)
