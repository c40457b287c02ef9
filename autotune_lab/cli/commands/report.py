"""``autotune-lab report``: the page for review."""

from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show_json
from autotune_lab.cli.queries import (
    KernelOption,
    ModelOption,
    ProblemOption,
    SimulatedOption,
    StudyOption,
)
from autotune_lab.cli.state import open_store


def command(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("out/report"),
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    study: StudyOption = None,
    include_simulated: SimulatedOption = False,
    title: Annotated[str, typer.Option(help="The page's title.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Write the page for review.

    A self-contained HTML page, the same in Markdown, its figures and its data.
    """
    from autotune_lab.reporting.making import write_report
    from autotune_lab.store.query import Query

    query = Query(
        kernel=kernel,
        problem=problem,
        device_model=device_model,
        study=study,
        include_simulated=include_simulated,
    )
    with open_store(context) as store:
        page = write_report(store, query, out, title)
    if as_json:
        show_json({"report": str(page)})
    else:
        typer.echo(f"report: {page}")
