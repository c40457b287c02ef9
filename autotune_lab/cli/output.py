"""Prints rows as a table for people or as strict JSON for machines.

Text of a store or a file is shown, never obeyed: a terminal gets no control character of it.
"""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from autotune_lab.errors import one_line

PIPE_WIDTH = 200  # a pipe has no width of its own; long lines are better than folded words

# What JSON may hold as it stands, and a terminal or an encoder stumbles over.
_UNWRITABLE = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

JsonOption = Annotated[bool, typer.Option("--json", help="Print strict JSON instead of a table.")]


def show(
    rows: Sequence[Mapping[str, Any]], *, as_json: bool, title: str = "", empty: str = ""
) -> None:
    """Print rows; the first row's keys are the columns. ``empty`` is said when there are none."""
    if as_json:
        show_json(list(rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    if not rows:
        console.print(Text(empty or "nothing to show"))
        return
    table = Table(title=title or None, title_justify="left", header_style="bold", box=None)
    for name, value in rows[0].items():
        table.add_column(name, justify="right" if _is_number(value) else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(row.get(name))) for name in rows[0]))
    console.print(table)


def show_json(value: Any) -> None:
    """Print a value as strict JSON; numbers that are not finite become null."""
    text = json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=False)
    sys.stdout.write(_UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def plain(value: Any) -> Any:
    """Reduce a value to what strict JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if hasattr(value, "item") and not isinstance(value, int | float):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value
    return str(value)


def cell(value: Any) -> str:
    """Return a table cell: four significant digits for floats, an empty cell for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple | list):
        return one_line(", ".join(str(item) for item in value))
    return one_line(str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
