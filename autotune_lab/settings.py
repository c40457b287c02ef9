"""Where a lab keeps its things: flag > ``AUTOTUNE_LAB_STORE`` > ``[tool.autotune-lab]`` > default.

A lab is the folder of the nearest ``pyproject.toml`` with a ``[tool.autotune-lab]`` table, else the
working folder. Paths in the table are relative to that file.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune_lab.errors import UsageError

STORE_VARIABLE = "AUTOTUNE_LAB_STORE"
DEFAULT_STORE = "sqlite:///lab.db"
KEYS = ("reports", "search_spaces", "store", "studies")

_PASSWORD = re.compile(r"(?<=://)([^:/@]*):[^@/]*@")
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one lab.

    Attributes:
        root: the lab's folder.
        store_url: SQLAlchemy URL of the store; may hold a password, see ``store_url_display``.
        search_spaces, studies, reports: absolute folders; they need not exist.
    """

    root: Path
    store_url: str
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

    @property
    def store_url_display(self) -> str:
        """The store's URL without a password, for messages."""
        return _PASSWORD.sub(r"\1:***@", self.store_url)


def _nearest_table(start: Path) -> tuple[Path, dict[str, str]]:
    """Return the lab's root and its table."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            table = _read(path).get("tool", {}).get("autotune-lab")
            if table is not None:
                _check(path, table)
                return folder, table
    return start, {}


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not readable TOML: {error}") from error


def _check(path: Path, table: Mapping[str, Any]) -> None:
    faults = []
    for key, value in table.items():
        if key not in KEYS:
            faults.append(f"there is no key {key!r}")
        elif not isinstance(value, str) or not value:
            faults.append(f"{key} is {value!r}, not a text")
    if faults:
        allowed = ", ".join(KEYS)
        raise UsageError(f"{path}, [tool.autotune-lab]: {'; '.join(faults)} (allowed: {allowed})")


def _anchored(url: str, root: Path) -> str:
    """Make a relative SQLite path relative to the lab, so that a subfolder finds the same store."""
    path = url.removeprefix(_SQLITE)
    if (
        path == url
        or not path
        or path.startswith((":memory:", "file:"))
        or Path(path).is_absolute()
    ):
        return url
    return f"{_SQLITE}{root / path}"
