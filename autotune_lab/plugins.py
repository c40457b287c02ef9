"""Finds what extends the lab: files of the package's own folders, then entry points.

A plug-in is a module that defines its group's hook. Own files are recognised by their text and
imported only when one is asked for; third-party ones are entry points of ``autotune_lab.<group>``.
"""

import ast
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from autotune_lab.errors import UsageError, did_you_mean


@dataclass(frozen=True, slots=True)
class Group:
    """One kind of plug-in: the package of the lab that holds its files, and the hook of each."""

    package: str
    hook: str
    singular: str


GROUPS: Mapping[str, Group] = {
    "devices": Group("devices", "open", "device"),
    "exporting": Group("exporting", "write", "export format"),
    "importing": Group("importing", "parse", "import format"),
    "samplers": Group("samplers", "create", "sampler"),
    "sections": Group("reporting.sections", "build", "report section"),
}

PACKAGE = "autotune_lab"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in by name, not imported yet.

    Attributes:
        origin: the file or the installed distribution that brings it.
        target: its module.
        clashes_with: origins of other plug-ins of the same name; with any, none can be loaded.
    """

    group: str
    name: str
    origin: str
    target: str
    clashes_with: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """What is wrong with it, else ``""``. Imports it if it is of a third party."""
        if self.target.startswith(f"{PACKAGE}.") and not self.clashes_with:
            return ""
        try:
            self.load()
        except UsageError as error:
            return str(error)
        return ""

    def load(self) -> ModuleType:
        """Import its module.

        Raises:
            UsageError: it can't be imported, lacks the hook, or shares its name with another.
        """
        kind = GROUPS[self.group]
        label = f"{kind.singular} {self.name!r} of {self.origin}"
        if self.clashes_with:
            others = ", ".join(self.clashes_with)
            raise UsageError(f"{label} has the same name as that of {others}; remove one of them")
        try:
            module = importlib.import_module(self.target)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise UsageError(f"{label} can't be imported: {what}") from error
        if not callable(getattr(module, kind.hook, None)):
            raise UsageError(f"{label}: module {self.target} has no function {kind.hook}")
        return module


def find(group: str) -> dict[str, Plugin]:
    """Return the plug-ins of a group by name, sorted; nothing is imported.

    Raises:
        UsageError: there is no such group.
    """
    found: dict[str, list[Plugin]] = {}
    for plugin in (*_own(group), *_foreign(group)):
        found.setdefault(plugin.name, []).append(plugin)
    return {name: _merged(found[name]) for name in sorted(found)}


def load(group: str, name: str) -> ModuleType:
    """Import one plug-in.

    Raises:
        UsageError: there is none of that name, or it is broken.
    """
    found = [*_own(group, only=name), *(p for p in _foreign(group) if p.name == name)]
    if not found:
        hint = did_you_mean(name, find(group))
        raise UsageError(f"no {GROUPS[group].singular} named {name!r}{hint}")
    return _merged(found).load()


def _merged(plugins: list[Plugin]) -> Plugin:
    first, *others = plugins
    return replace(first, clashes_with=tuple(other.origin for other in others))


def _own(group: str, *, only: str = "") -> list[Plugin]:
    """List the lab's own plug-ins of a group, or the one of a name."""
    if group not in GROUPS:
        raise UsageError(f"no plug-in group {group!r}{did_you_mean(group, GROUPS)}")
    kind = GROUPS[group]
    folder = Path(__file__).parent.joinpath(*kind.package.split("."))
    files = {path.stem: path for path in folder.glob("[!_]*.py")}
    packages = {path.parent.name: path for path in folder.glob("[!_]*/__init__.py")}
    return [
        Plugin(group, name, PACKAGE, f"{PACKAGE}.{kind.package}.{name}")
        for name, path in sorted({**files, **packages}.items())
        if only in ("", name) and _defines(path, kind.hook)
    ]


def _defines(path: Path, hook: str) -> bool:
    """Tell a plug-in from the contract and the helpers beside it, without importing any.

    A module defines the hook; a package may also re-export it.
    """
    body = ast.parse(path.read_bytes()).body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    if path.name == "__init__.py":
        imports = (node for node in body if isinstance(node, ast.ImportFrom))
        defined |= {alias.asname or alias.name for node in imports for alias in node.names}
    return hook in defined


def _foreign(group: str) -> list[Plugin]:
    points = entry_points(group=f"{PACKAGE}.{group}")
    return sorted((_of_entry_point(group, p) for p in points), key=lambda p: (p.name, p.origin))


def _of_entry_point(group: str, point: EntryPoint) -> Plugin:
    origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    return Plugin(group, point.name, origin, point.module)
