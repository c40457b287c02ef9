"""``autotune-lab watch``: what is being tuned right now."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from autotune_lab.cli.output import JsonOption, cell, show, show_json
from autotune_lab.cli.state import open_store
from autotune_lab.errors import one_line

if TYPE_CHECKING:
    from autotune_lab.store.progress import Progress

IDLE = "no study is running"


def command(
    context: typer.Context,
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Watch the running studies, whoever runs them.

    A table that is redrawn on a terminal, a line for each change elsewhere, until Ctrl-C.

    With --json one look as JSON. It only reads the store.
    """
    import contextlib

    from autotune_lab.codec import to_plain

    with open_store(context) as store:
        if as_json:
            show_json([to_plain(entry) for entry in store.progress()])
        elif once:
            rows = [_row(entry) for entry in store.progress()]
            show(rows, as_json=False, empty=IDLE)
        else:
            with contextlib.suppress(KeyboardInterrupt):
                _follow(store.progress, every)


def _follow(look: Any, every_s: float) -> None:
    import sys

    if sys.stdout.isatty():
        _redraw(look, every_s)
    else:
        _print_changes(look, every_s)


def _redraw(look: Any, every_s: float) -> None:
    import time

    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False, screen=False) as live:
        while True:
            live.update(_table(look()), refresh=True)
            time.sleep(every_s)


def _print_changes(look: Any, every_s: float) -> None:
    import time

    last: list[str] | None = None
    while True:
        lines = [line(entry) for entry in look()] or [IDLE]
        for text in lines:
            if last is None or text not in last:
                typer.echo(text)
        last = lines
        time.sleep(every_s)


def line(entry: "Progress") -> str:
    """Write one context of a running study as a line."""
    row = _row(entry)
    best = f"best {row['best ms']:.4g} ms" if row["best ms"] is not None else "none ran yet"
    return one_line(
        f"{row['study']}: {row['kernel']} {row['problem']} on {row['device']}: {best}, "
        f"{row['finished']} finished ({row['states']}), {row['running']} running"
    )


def _row(entry: "Progress") -> dict[str, Any]:
    source = "" if entry.source == "gpu" else f" ({entry.source})"
    return {
        "study": entry.study,
        "kernel": entry.kernel,
        "problem": entry.problem,
        "device": f"{entry.device_model}{source}",
        "best ms": entry.best_ms,
        "finished": entry.finished,
        "running": entry.running,
        "states": ", ".join(
            f"{count} {state}" for state, count in entry.trials.items() if state != "running"
        ),
        "last": entry.last_at[11:19],
        "process": f"{entry.host} {entry.pid}",
    }


def _table(entries: "list[Progress]") -> Any:
    from rich.table import Table
    from rich.text import Text

    if not entries:
        return Text(f"{IDLE}; Ctrl-C ends this")
    table = Table(box=None, header_style="bold", caption="Ctrl-C ends this, not the studies")
    for name in _row(entries[0]):
        table.add_column(name)
    for entry in entries:
        table.add_row(*(Text(cell(value)) for value in _row(entry).values()))
    return table
