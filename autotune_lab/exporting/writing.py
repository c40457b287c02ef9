"""Writes winners in a format that is named: what the command line and scripts call."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from autotune_lab import plugins
from autotune_lab.exporting.base import FormatModule, Options, write_files
from autotune_lab.records import Pick


def export(
    picks: Iterable[Pick],
    format_name: str,
    directory: Path,
    *,
    strict: bool = False,
    options: Options | None = None,
) -> list[Path]:
    """Write winners as files of a format, one per device model unless the format splits further.

    Args:
        picks: the winners.
        format_name: a plug-in of the group ``exporting``: ``"json"``, ``"triton"``, ``"csv"``, ...
        directory: made if it is absent; files of other names in it are left alone.
        strict: refuse a winner that is simulated, disturbed, not re-measured or stale.
        options: what the format may need beyond the picks.

    Raises:
        UsageError: there is no such format.
        ExportError: there is nothing to export, or something that may not be or can't be said; no
            file was touched.
    """
    chosen = options or Options()
    module = cast("FormatModule", plugins.load("exporting", format_name))
    chosen = replace(chosen, strict=strict or chosen.strict)
    return write_files(picks, module, directory, options=chosen)
