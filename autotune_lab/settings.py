"""Where a lab keeps its things: flag > ``AUTOTUNE_LAB_STORE`` > ``[tool.autotune-lab]`` > default.

A lab is the folder of the nearest ``pyproject.toml`` with a ``[tool.autotune-lab]`` table, else the
working folder. Paths in the table are relative to that file. Kernels are code: a folder above the
working folder that everybody may write to (``/tmp``) is never taken for a lab.
"""

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autotune_lab.errors import UsageError

STORE_VARIABLE = "AUTOTUNE_LAB_STORE"
DEFAULT_STORE = "sqlite:///lab.db"
KEYS = ("reports", "search_spaces", "store", "studies")

_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one lab.

    Attributes:
        root: the lab's folder.
        store_url: SQLAlchemy URL of the store. It may hold a password: what messages may show is
            ``store.location.locate(store_url).display``.
        search_spaces, studies, reports: absolute folders; they need not exist.
    """

    root: Path
    store_url: str = field(repr=False)
    search_spaces: Path
    studies: Path
    reports: Path

    @classmethod
    def discover(
        cls,
        start: Path,
        store: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> "Settings":
        """Find the lab that a folder is in.

        Args:
            start: a folder; usually the working folder.
            store: what the user asked for on the command line.
            environment: variables to read; by default the process's.

        Raises:
            UsageError: a table has an unknown key or a value of the wrong type; the message names
                the file and what is allowed.
        """
        start = start.resolve()
        variables = os.environ if environment is None else environment
        root, table = _nearest_table(start)
        in_table = _anchored(table.get("store", DEFAULT_STORE), root)
        return cls(
            root=root,
            store_url=store or variables.get(STORE_VARIABLE) or in_table,
            search_spaces=root / table.get("search_spaces", "search_spaces"),
            studies=root / table.get("studies", "studies"),
            reports=root / table.get("reports", "reports"),
        )


def _nearest_table(start: Path) -> tuple[Path, dict[str, str]]:
    """Return the lab's root and its table."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file() and (folder == start or not _is_everybodys(folder)):
            tools = _read(path).get("tool", {})
            table = tools.get("autotune-lab") if isinstance(tools, dict) else None
            if table is not None:
                _check(path, table)
                return folder, table
    return start, {}


def _is_everybodys(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IWOTH)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not readable TOML: {error}") from error


def _check(path: Path, table: Any) -> None:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.autotune-lab is {table!r}, not a table")
    faults = []
    for key, value in table.items():
        if key not in KEYS:
            faults.append(f"there is no key {key!r}")
        elif not isinstance(value, str) or not value or "\x00" in value:
            # A store's value is not repeated: it may hold a password.
            shown = "something" if key == "store" else repr(value)
            faults.append(f"{key} is {shown}, not a text")
    if faults:
        allowed = ", ".join(KEYS)
        raise UsageError(f"{path}, [tool.autotune-lab]: {'; '.join(faults)} (allowed: {allowed})")


def _anchored(url: str, root: Path) -> str:
    """Make a relative SQLite path relative to the lab, so that a subfolder finds the same store."""
    path = url.removeprefix(_SQLITE)
    if not path or "://" in path or path.startswith((":memory:", "file:", "~", "/")):
        return url
    return f"{_SQLITE}{root / path}"
