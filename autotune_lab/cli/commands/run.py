"""``autotune-lab run``: a scripted study."""

from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption


def command(
    context: typer.Context,
    study: Annotated[
        Path, typer.Argument(help="A study file, studies/NAME.py.", metavar="STUDY.py")
    ],
    device: Annotated[
        list[str] | None, typer.Option(help="Run on these devices instead of the study's own.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Compiler processes.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a study file.

    That is its module-level ``study = Study(...)``.
    Run it again to go on where it stopped.
    """
    import dataclasses

    from autotune_lab.cli.studying import conduct
    from autotune_lab.tuning.files import load_study

    declared = load_study(study)
    if device:
        declared = dataclasses.replace(declared, devices=device)
    conduct(context, declared, dry_run=dry_run, as_json=as_json, workers=workers)
