"""``autotune-lab store``: upkeep of the results store."""

from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import open_store, settings

command = typer.Typer(
    help="Check, copy, compact or upgrade the store.", no_args_is_help=True, rich_markup_mode=None
)


@command.command()
def check(context: typer.Context, as_json: JsonOption = False) -> None:
    """Read everything and list what is wrong; exits with 1 if anything is."""
    with open_store(context) as store:
        faults = store.check()
        name = store.url_display
    show([{"fault": line} for line in faults], as_json=as_json, empty=f"{name}: ok")
    if faults:
        raise typer.Exit(1)


@command.command()
def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(help="A new file.")],
    as_json: JsonOption = False,
) -> None:
    """Copy an SQLite store while others use it."""
    with open_store(context) as store:
        store.backup(target)
    _say(f"wrote {target}", {"file": str(target)}, as_json=as_json)


@command.command()
def vacuum(context: typer.Context, as_json: JsonOption = False) -> None:
    """Give unused space back to the file system."""
    with open_store(context) as store:
        store.vacuum()
        name = store.url_display
    _say(f"{name}: compacted", {"store": name}, as_json=as_json)


@command.command()
def upgrade(context: typer.Context, as_json: JsonOption = False) -> None:
    """Bring a store of an older version up to date; an SQLite file is copied first."""
    from autotune_lab.store.store import Store

    with Store.open(settings(context).store_url, create=False, migrate=True) as store:
        name = store.url_display
    _say(f"{name}: up to date", {"store": name}, as_json=as_json)


def _say(text: str, facts: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        show_json(facts)
    else:
        typer.echo(text)
