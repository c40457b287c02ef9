"""``autotune-lab studies``: what was run."""

from typing import Any

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import open_store


def command(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what was run, when and where.

    With how it ended and how many trials it has.
    """
    from autotune_lab.codec import to_plain

    with open_store(context) as store:
        found = [to_plain(study) for study in store.studies()]
    if as_json:
        show_json(found)
        return
    rows = [{name: _told(study[name]) for name in study if name != "plan"} for study in found]
    show(rows, as_json=False, empty="no study was run yet")


def _told(value: Any) -> Any:
    """Write a count of trials by state as text; leave the rest."""
    if isinstance(value, dict):
        return ", ".join(f"{count} {state}" for state, count in value.items())
    return value
