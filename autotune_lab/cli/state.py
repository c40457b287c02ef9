"""The global options, and what commands make of them: settings, an open store, a query."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autotune_lab.settings import Settings

if TYPE_CHECKING:
    from autotune_lab.store.store import Store


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """Options that stand before the command."""

    store: str | None = field(default=None, repr=False)  # it may hold a password
    debug: bool = False


def settings(context: typer.Context) -> Settings:
    """Return the settings of the working folder with the command line's store."""
    options: GlobalOptions = context.find_object(GlobalOptions) or GlobalOptions()
    return Settings.discover(Path.cwd(), store=options.store)


@contextlib.contextmanager
def open_store(context: typer.Context, *, create: bool = False) -> Iterator["Store"]:
    """Open the store for the length of a command.

    Raises:
        StoreError: it can't be opened, or does not exist and ``create`` is False.
    """
    from autotune_lab.store.store import Store

    store = Store.open(settings(context).store_url, create=create)
    try:
        yield store
    finally:
        store.close()
