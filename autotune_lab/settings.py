"""Where the lab is and which store it uses: flag > environment > pyproject.toml > default."""

import difflib
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


@dataclass(frozen=True, slots=True)
class Settings:
    """A lab's folders and its store.

    Attributes:
        root: the nearest folder upwards whose pyproject.toml has ``[tool.autotune-lab]``, else the
            folder that was started from. Relative paths are relative to it.
        store_url: any SQLAlchemy URL.
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
        *,
        store: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> "Settings":
        """Read the settings that hold in a folder.

        Args:
            start: the folder to look upwards from.
            store: the command line's choice, a URL or a file name.
            environment: variables to read instead of the process's own.

        Raises:
            UsageError: pyproject.toml can't be read, or has a key that is not known.
        """
        variables = os.environ if environment is None else environment
        start = start.resolve()
        root, declared = _declared(start)
        chosen = store or variables.get(STORE_VARIABLE)
        url = (
            _as_url(chosen, start)
            if chosen
            else _as_url(declared.get("store") or DEFAULT_STORE, root)
        )
        return cls(
            root=root,
            store_url=url,
            search_spaces=root / declared.get("search_spaces", "search_spaces"),
            studies=root / declared.get("studies", "studies"),
            reports=root / declared.get("reports", "reports"),
        )

    @property
    def store_url_display(self) -> str:
        """The store's URL without its password."""
        return re.sub(r"(://[^/:@]*):[^@]*@", r"\1:***@", self.store_url)


def _declared(start: Path) -> tuple[Path, dict[str, str]]:
    """Return the lab's root and what its pyproject.toml says."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if not path.is_file():
            continue
        try:
            table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: not readable as TOML: {error}") from error
        declared = table.get("tool", {}).get("autotune-lab")
        if declared is not None:
            _check(path, declared)
            return folder, declared
    return start, {}


def _check(path: Path, declared: Mapping[str, Any]) -> None:
    for key, value in declared.items():
        if key not in KEYS:
            close = difflib.get_close_matches(key, KEYS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UsageError(
                f"{path}: [tool.autotune-lab] has the unknown key {key!r}{hint} "
                f"(known: {', '.join(KEYS)})"
            )
        if not isinstance(value, str):
            raise UsageError(f"{path}: [tool.autotune-lab] {key} must be text, is {value!r}")


def _as_url(text: str, folder: Path) -> str:
    """Turn a file name into a SQLite URL; a relative SQLite path is relative to the folder."""
    if "://" not in text:
        return f"sqlite:///{(folder / text).resolve()}"
    prefix = "sqlite:///"
    if text.startswith(prefix) and text not in (prefix, f"{prefix}:memory:"):
        return f"{prefix}{(folder / text.removeprefix(prefix)).resolve()}"
    return text
