"""``autotune-lab verify-export``: is what was exported still right on this machine?"""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show


def command(
    file: Annotated[Path, typer.Argument(help="An export of the json format.")],
    kernel: Annotated[str | None, typer.Option(help="Only this kernel.")] = None,
    device: Annotated[str, typer.Option(help="As for tune.")] = "auto",
    sample: Annotated[int, typer.Option(min=1, help="Winners to measure again.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="Of winner and default, in turns.")] = 5,
    bound: Annotated[float, typer.Option(min=0.0, help="Slower by this much is wrong.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Draws the sample.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure a sample of an export again.

    A winner is wrong if it does not run or gives a wrong result here, or takes longer than the
    kernel's default, or than its own exported time, by more than the bound.

    Exits with 1 when one is wrong.
    """
    from autotune_lab.checking.exported import Plan, recheck
    from autotune_lab.exporting import json
    from autotune_lab.exporting.base import read_text

    picks = [
        pick
        for pick in json.read(read_text(file)).picks
        if kernel in (None, pick.context.kernel.name)
    ]
    plan = Plan(sample=sample, rounds=rounds, bound=bound, seed=seed)
    with tempfile.TemporaryDirectory(prefix="autotune-lab-") as logs:
        found = recheck(picks, device, plan, root=Path.cwd(), log_dir=Path(logs))
    rows = [
        {
            "kernel": one.pick.context.kernel.name,
            "problem": str(one.pick.context.problem),
            "tuned on": one.pick.context.model.slug,
            "exported_ms": one.exported_ms,
            "now_ms": one.now_ms,
            "default_ms": one.default_ms,
            "wrong": "; ".join(one.faults),
        }
        for one in found
    ]
    show(rows, as_json=as_json)
    if any(one.is_wrong for one in found):
        raise typer.Exit(1)
