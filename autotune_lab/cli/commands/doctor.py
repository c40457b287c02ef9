"""``autotune-lab doctor``: what works on this machine, what does not, and what to do."""

import typer

from autotune_lab.cli.output import JsonOption, show
from autotune_lab.cli.state import settings


def command(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check this machine part by part, by use.

    GPU, driver, torch, Triton, interpreter, compiler and store are examined.

    The vector copy is compiled, interpreted and, with a GPU, measured: a broken environment is told
    from a broken kernel. Exits with 1 when something that tuning needs does not work.
    """
    from autotune_lab.checking.environment import examine

    findings = examine(settings(context))
    show(
        [
            {
                "part": finding.part,
                "works": "yes" if finding.works else "no" if finding.is_needed else "absent",
                "found": finding.found,
                "to do": finding.advice,
            }
            for finding in findings
        ],
        as_json=as_json,
    )
    if any(finding.is_needed and not finding.works for finding in findings):
        raise typer.Exit(1)
