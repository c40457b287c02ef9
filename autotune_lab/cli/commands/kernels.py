"""``autotune-lab kernels``: the catalog."""

from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import settings


def command(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Show this kernel's space and problems.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List kernels, or show one in full."""
    from autotune_lab import catalog

    root = settings(context).root
    if name is None:
        rows = [
            {"kernel": e.name, "origin": e.origin, "about": e.error or e.summary}
            for e in catalog.listing(root)
        ]
        show(rows, as_json=as_json, empty="no kernels; autotune-lab init writes the first one")
        return
    definition = catalog.load(name, root=root)
    spaces = [(p, definition.space.bind(p, None)) for p in definition.problems]
    if as_json:
        show_json(
            {
                "kernel": definition.name,
                "problems": [dict(problem) for problem, _ in spaces],
                "default": dict(definition.default or {}),
                "outputs": list(definition.outputs),
                "space": spaces[0][1].snapshot(),
            }
        )
        return
    bound = spaces[0][1]
    show(
        [{"parameter": p.name, "values": p.values} for p in bound.parameters],
        as_json=False,
        title=f"{definition.name}: parameters",
    )
    show(
        [{"problem": str(problem), "valid configs": len(space)} for problem, space in spaces],
        as_json=False,
        title="problems",
    )
    if definition.default:
        typer.echo(f"default: {definition.default_config}")
    for text in bound.snapshot()["constraints"]:
        typer.echo(f"constraint: {text}")
