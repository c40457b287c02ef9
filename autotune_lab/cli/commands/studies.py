"""``autotune-lab studies``: what was run."""

import typer

from autotune_lab.cli.output import JsonOption, show
from autotune_lab.cli.state import open_store
from autotune_lab.codec import to_plain


def command(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the runs in the store: when, where, how they ended, how many trials they added."""
    with open_store(context) as store:
        rows = [to_plain(study) for study in store.studies()]
        show(rows, as_json=as_json, empty="no study was run yet")
