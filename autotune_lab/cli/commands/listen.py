"""``autotune-lab listen``: what a program's own autotuned kernels measure, into the store."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(help="The program to run.", metavar="SCRIPT.py")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="Its arguments; write -- before the script if it has options."),
    ] = None,
    study: Annotated[str, typer.Option(help="Name of the study in the store.")] = "triton.autotune",
) -> None:
    """Run a program and store what its @triton.autotune kernels measure.

    The program is not changed and runs on if nothing can be stored. Such times are real but not
    verified, and are never ranked with the lab's own.
    """
    import runpy
    import sys
    import traceback

    from autotune_lab.cli.state import settings
    from autotune_lab.errors import UsageError
    from autotune_lab.tuning.listening import listen

    if not script.is_file():
        raise UsageError(f"{script}: there is no such program")
    sys.argv = [str(script), *(arguments or [])]
    sys.path.insert(0, str(script.resolve().parent))
    with listen(settings(context).store_url, study=study) as listener:
        try:
            runpy.run_path(str(script), run_name="__main__")
        except Exception:  # noqa: BLE001 - the program's own, shown as Python shows it
            traceback.print_exc()
            raise typer.Exit(1) from None
        finally:
            what = f"{listener.trials} new trials of {listener.tunings} tunings"
            why = f"; the last fault: {listener.fault}" if listener.fault else ""
            sys.stderr.write(f"listened: {what} stored{why}\n")
