"""Finds plug-ins: the files of a package's folder, then entry points ``autotune_lab.<group>``.

Nothing is imported until it is asked for; a broken third-party plug-in is an entry with its error.
"""

import difflib
import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import UsageError

GROUPS: Mapping[str, str] = {
    "devices": "autotune_lab.devices",
    "samplers": "autotune_lab.samplers",
    "exporting": "autotune_lab.exporting",
    "sections": "autotune_lab.reporting.sections",
}
CONTRACT_FILES = frozenset({"base", "opening", "writing", "names"})


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plug-in: its name, the module that defines it, and who brought it."""

    name: str
    module: str
    origin: str
    error: str = ""


def find(group: str) -> dict[str, Plugin]:
    """Return a group's plug-ins by name, without importing them.

    Raises:
        UsageError: there is no such group, or two plug-ins share a name.
    """
    if group not in GROUPS:
        raise UsageError(f"no plug-in group {group!r}; there are {', '.join(GROUPS)}")
    package = importlib.import_module(GROUPS[group])
    found: dict[str, Plugin] = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        if not module.name.startswith("_") and module.name not in CONTRACT_FILES:
            full = f"{GROUPS[group]}.{module.name}"
            found[module.name] = Plugin(module.name, full, "autotune_lab")
    for point in importlib.metadata.entry_points(group=f"autotune_lab.{group}"):
        origin = point.dist.name if point.dist else "?"
        if point.name in found:
            raise UsageError(
                f"{group}: two plug-ins are named {point.name!r}, from {found[point.name].origin} "
                f"and {origin}; uninstall or rename one"
            )
        found[point.name] = Plugin(point.name, point.value, origin, _error_of(point.value))
    return found


def load(group: str, name: str) -> Any:
    """Import a plug-in's module.

    Raises:
        UsageError: there is none of that name, or it can't be imported.
    """
    found = find(group)
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(found)}"
        raise UsageError(f"no {group.removesuffix('s')} named {name!r}; {hint}")
    try:
        return importlib.import_module(found[name].module)
    except Exception as error:  # a plug-in may raise anything
        if found[name].origin == "autotune_lab":
            raise
        raise UsageError(
            f"{group}: plug-in {name!r} of {found[name].origin} can't be imported: "
            f"{type(error).__name__}: {error}"
        ) from error


def _error_of(module: str) -> str:
    """Say why a third-party module can't be found; empty when it can."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "" if spec else f"no module named {module!r}"
