"""``autotune-lab export``: winners for production."""

from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show_json
from autotune_lab.cli.queries import KernelOption, ModelOption, ProblemOption
from autotune_lab.cli.state import open_store


def command(
    context: typer.Context,
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    format_: Annotated[str, typer.Option("--format", help="See: autotune-lab plugins.")] = "json",
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("out/export"),
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse winners that are throttled or not re-measured.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write winners as files to ship.

    One file per device model, with the evidence for each winner.
    """
    from autotune_lab.analysis import evidence, winners
    from autotune_lab.exporting.base import Options
    from autotune_lab.exporting.writing import export
    from autotune_lab.store.query import Query

    query = Query(kernel=kernel, problem=problem, device_model=device_model)
    with open_store(context) as store:
        picks = winners.best(store, query)
        found = evidence.of_store(store, query, picks)
    options = Options(reaches=found.reaches, portfolios=found.portfolios, rules=found.rules)
    paths = export(picks, format_, out, strict=strict, options=options)
    if as_json:
        show_json({"files": [str(path) for path in paths]})
    else:
        for path in paths:
            typer.echo(f"wrote {path}")
