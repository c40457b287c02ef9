"""``autotune-lab init``: a lab of one's own."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    directory: Annotated[Path, typer.Argument(help="Folder of the new lab.")] = Path(),
    kernel: Annotated[str, typer.Option(help="Bundled kernel to start from.")] = "vector_add",
) -> None:
    """Write a lab of your own.

    That is search_spaces/, studies/ and reports/ with a first kernel and a first study.

    Nothing is overwritten: if any file exists already, all clashes are named and none is written.
    """
    from autotune_lab.cli.scaffold import scaffold

    written = scaffold(directory, kernel)
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: cd {directory} && autotune-lab tune {kernel}")
