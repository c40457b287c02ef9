"""``autotune-lab merge``: another store's results into this one."""

from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import open_store
from autotune_lab.errors import one_line


def command(
    context: typer.Context,
    other: Annotated[str, typer.Argument(help="The other store: a file name or a URL.")],
    as_json: JsonOption = False,
) -> None:
    """Add another store's runs, trials and picks.

    Results keep their device, code and host; merging the same store again adds nothing.
    """
    from dataclasses import asdict

    from autotune_lab.store.store import Store

    with (
        Store.open(other, create=False) as source,
        open_store(context, create=True) as store,
    ):
        merged = asdict(store.merge_from(source))
    if as_json:
        show_json(merged)
        return
    disagreements = merged.pop("disagreements")
    show([merged], as_json=False)
    for line in disagreements:
        typer.echo(f"note: {one_line(line)}; this store's own result stays", err=True)
