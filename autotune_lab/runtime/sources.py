"""Finds and reads tables: a file, a folder of files, package data, the environment, a function."""

import functools
import logging
import os
from collections.abc import Callable, Iterable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, cast

from autotune_lab.errors import ExportError
from autotune_lab.records import Pick
from autotune_lab.runtime.table import Table

VARIABLE = "AUTOTUNE_LAB_TABLE"

Source = Table | str | os.PathLike[str] | Traversable | Callable[[], Table | Iterable[Pick]] | None
OnBadTable = Literal["error", "default"]

_log = logging.getLogger(__name__)


def load(source: Source, *, on_bad_table: OnBadTable = "error") -> Table:
    """Return a table.

    Args:
        source: a file or folder of the ``json`` format, package data
            (``importlib.resources.files("mine") / "table.json"``), a table, or a function that
            returns a table or picks (of a store). None stands for the file or folder that the
            variable ``AUTOTUNE_LAB_TABLE`` names.
        on_bad_table: ``"default"`` makes of a table that can't be read an empty one, and says so.

    Raises:
        ExportError: there is no table, or it can't be used.
    """
    try:
        return _load(source)
    except ExportError as error:
        if on_bad_table == "error":
            raise
        _log.warning("%s; every launch uses its kernel's default", error)
        return Table.empty(str(error))


def _load(source: Source) -> Table:
    if isinstance(source, Table):
        return source
    if callable(source):
        found = source()
        return found if isinstance(found, Table) else Table.from_picks(found, repr(source))
    if source is None:
        named = os.environ.get(VARIABLE, "")
        if not named:
            raise ExportError(f"no table was given, and {VARIABLE} names none")
        source = named
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source))
    return Table.parse(_read(source), str(source))


def _of_path(path: Path) -> Table:
    try:
        known = path.stat()
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        state = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    except FileNotFoundError as error:
        raise ExportError(f"table {path} does not exist; searched {path.resolve()}") from error
    except OSError as error:
        raise ExportError(f"table {path} can't be read: {error.strerror or error}") from error
    del known
    if not files:
        raise ExportError(f"table {path} is a folder without a .json file")
    return _of_files(state)


@functools.lru_cache(maxsize=16)
def _of_files(state: tuple[tuple[str, int, int], ...]) -> Table:
    """Read files once a version: a module with many kernels names one table many times."""
    return Table.merged([Table.parse(_read(Path(name)), name) for name, _, _ in state])


def _read(file: Any) -> bytes:
    try:
        return cast("bytes", file.read_bytes())
    except FileNotFoundError as error:
        raise ExportError(f"table {file} does not exist") from error
    except OSError as error:
        raise ExportError(f"table {file} can't be read: {error.strerror or error}") from error
