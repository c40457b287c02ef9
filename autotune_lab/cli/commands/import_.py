"""``autotune-lab import``: results that were measured elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show
from autotune_lab.cli.state import open_store
from autotune_lab.errors import one_line


def command(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(help="Recordings, Kernel Tuner caches, T4 results.", metavar="FILE..."),
    ],
    device_name: Annotated[
        str, typer.Option(help="The GPU it was measured on, where the file does not say.")
    ] = "",
    kernel: Annotated[str, typer.Option(help="The kernel's name, the same.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Add what files of other tuners, or recordings, hold.

    A file is stored whole or not at all, and says of itself that it was not measured here.
    Importing it again adds nothing.
    """
    from autotune_lab import recording
    from autotune_lab.importing import base, reading
    from autotune_lab.store import recorder

    rows = []
    with open_store(context, create=True) as store:
        for path in files:
            if path.name.endswith(".jsonl.gz"):
                held = base.Imported(recording.read(path).contexts)
            else:
                held = reading.read(path, device_name=device_name, kernel=kernel)
            for note in held.notes:
                typer.echo(f"note: {one_line(note)}", err=True)
            added = recorder.load(store, recording.Recording(held.contexts))
            rows.append({"file": str(path), "contexts": len(held.contexts), "new trials": added})
    show(rows, as_json=as_json)
