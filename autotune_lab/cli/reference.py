"""The command line's reference as Markdown: ``python -m autotune_lab.cli.reference > docs/cli.md``.

Made of the help texts alone, so that it can't say anything else than they do.
"""

import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from autotune_lab.cli.app import build

INTRODUCTION = """\
# Command line

<!-- written by: python -m autotune_lab.cli.reference > docs/cli.md -->

What `autotune-lab COMMAND -h` prints, command by command. Reading commands take `--json` and print
strict JSON then. Errors are one line on standard error.

Exit codes: 0 done, 1 the work failed or was found wanting, 2 bad use, 3 the device or the store is
wrong, 130 interrupted (the same command goes on from there).
"""


def reference() -> str:
    """Return the whole reference."""
    return "\n".join([INTRODUCTION, *_sections(typer.main.get_command(build()), "autotune-lab")])


def _sections(command: Any, name: str, parent: Any = None) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    context.max_content_width = context.terminal_width = 90
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    for child, found in sorted(getattr(command, "commands", {}).items()):
        yield from _sections(found, child, context)


if __name__ == "__main__":
    sys.stdout.write(reference())
