"""The entry point: global options, the commands found in ``cli/commands``, and errors for people.

Exit codes: 0 done, 1 the work failed or was found wanting, 2 bad use, 3 the device or the store is
wrong, 130 interrupted (and resumable).
"""

import importlib
import logging
import pkgutil
import sys
import traceback
from typing import Annotated

import typer

from autotune_lab.cli import commands
from autotune_lab.cli.state import GlobalOptions
from autotune_lab.errors import AutotuneLabError, one_line

INTERRUPTED = 130


def build() -> typer.Typer:
    """Return the application with one command for each file in ``cli/commands``."""
    app = typer.Typer(
        name="autotune-lab",
        help="Autotuning experiments for Triton kernels: every trial remembered, every winner "
        "cross-examined.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,  # plain help: its dress takes longer to load than all the rest
    )
    app.callback()(_global_options)
    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda found: found.name):
        name = module.name.rstrip("_").replace("_", "-")
        function = importlib.import_module(f"{commands.__name__}.{module.name}").command
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=name)
        else:
            app.command(name)(function)
    return app


def _show_version(asked: bool) -> None:
    if asked:
        from autotune_lab import __version__

        typer.echo(f"autotune-lab {__version__}")
        raise typer.Exit


def _global_options(
    context: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            help="Results store, any SQLAlchemy URL or a file name.  [default: sqlite:///lab.db]",
            envvar="AUTOTUNE_LAB_STORE",
            show_default=False,
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and log lines.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback has done it
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, format="%(message)s")
    context.obj = GlobalOptions(store=store, debug=debug)


def main() -> None:
    """Run the command line; every error of the lab ends as one line and an exit code."""
    debug = "--debug" in sys.argv
    try:
        build()(standalone_mode=True)
    except AutotuneLabError as error:
        _fail(str(error), error.exit_code, debug=debug)
    except (KeyboardInterrupt, SystemExit) as end:
        # Typer turns Ctrl-C into this exit code and says nothing.
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        _fail(
            "interrupted; what was measured is stored, and the same command goes on from there",
            INTERRUPTED,
            debug=debug,
        )
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except Exception as error:  # noqa: BLE001  the last line of defence turns a fault of ours into a line
        hint = "" if debug else " (see it in full with --debug)"
        _fail(f"unexpected {type(error).__name__}: {error}{hint}", 1, debug=debug)


def _fail(message: str, exit_code: int, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"autotune-lab: {one_line(message)}\n")
    raise SystemExit(exit_code)
