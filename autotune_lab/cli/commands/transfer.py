"""``autotune-lab transfer``: other places' winners, measured here."""

from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption


def command(
    context: typer.Context,
    kernel: Annotated[str, typer.Argument(help="Catalog name, or path/file.py[:attribute].")],
    problem: Annotated[
        list[str] | None, typer.Option(help="Only these problems; repeatable.")
    ] = None,
    device: Annotated[list[str] | None, typer.Option(help="As for tune; repeatable.")] = None,
    hot: Annotated[
        bool, typer.Option("--hot", help="Leave the L2 as it is between launches.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Compiler processes.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure here the winners the store has from elsewhere.

    Winners of the same kernel code on other devices and problems are run on this device; then the
    winner is judged again. What is stored already is not measured twice.
    """
    from autotune_lab.cli.studying import conduct
    from autotune_lab.definitions import Problem
    from autotune_lab.records import Phase, Protocol
    from autotune_lab.tuning.study import Study

    study = Study(
        name=f"transfer {kernel}",
        kernels=[kernel],
        problems={kernel: [Problem.parse(text) for text in problem]} if problem else {},
        devices=device or ["auto"],
        protocol=Protocol(cache="hot" if hot else "cold"),
        phases=[Phase.TRANSFER, Phase.PLAYOFF],
    )
    conduct(context, study, dry_run=dry_run, as_json=as_json, workers=workers)
