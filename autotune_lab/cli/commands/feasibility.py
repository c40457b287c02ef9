"""``autotune-lab feasibility``: do these configs fit GPUs that are not here?"""

from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show
from autotune_lab.cli.queries import ProblemOption

TARGETS = "sm_80,sm_90,gfx942"


def command(
    context: typer.Context,
    kernel: Annotated[str, typer.Argument(help="Catalog name, or path/file.py[:attribute].")],
    configs: Annotated[
        str, typer.Option(help="winners (of the store), default, or all (of the space).")
    ] = "winners",
    targets: Annotated[str, typer.Option(help="Architectures, separated by commas.")] = TARGETS,
    problem: ProblemOption = None,
    workers: Annotated[int | None, typer.Option(help="Compiler processes.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compile configs for other GPUs, here.

    Says what fits, what it needs and why the rest does not; it never says how fast. Exits with 1
    when nothing fits.
    """
    from autotune_lab.checking.feasibility import targets_named
    from autotune_lab.cli.asking import answers, questions

    chosen = targets_named(name.strip() for name in targets.split(","))
    found = answers(questions(context, kernel, configs, problem), chosen, workers)
    rows = [
        {
            "kernel": answer.kernel,
            "problem": str(answer.problem),
            "config": str(answer.config),
            "target": answer.target,
            "fits": answer.fits,
            "state": answer.state.value,
            "shared_bytes": answer.resources and answer.resources.shared_bytes,
            "registers": answer.resources and answer.resources.registers,
            "reason": answer.reason,
        }
        for answer in found
    ]
    show(rows, as_json=as_json)
    if not any(answer.fits for answer in found):
        raise typer.Exit(1)
