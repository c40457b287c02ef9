"""Turns a reference into a ``KernelDefinition``: a catalog name, or ``path/file.py[:attribute]``.

Files are loaded by path under a private package per folder, so that equal names in two folders
coexist, relative imports of ``_shared.py`` files work, and ``sys.path`` is left alone.
"""

import ast
import difflib
import hashlib
import importlib
import importlib.metadata
import sys
import traceback
import types
from dataclasses import dataclass
from pathlib import Path

from autotune_lab.definitions import KernelDefinition
from autotune_lab.errors import DefinitionError, UnknownKernel
from autotune_lab.settings import Settings

ENTRY_POINTS = "autotune_lab.kernels"


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel file as it stands in the catalog, read without running it."""

    name: str
    path: Path
    origin: str
    summary: str = ""
    error: str = ""


def load(reference: str, *, root: Path | None = None) -> KernelDefinition:
    """Load a kernel definition; nothing but its own file and what that imports is run.

    Args:
        reference: ``matmul``, ``path/file.py`` or ``path/file.py:attribute``.
        root: the lab's folder; the working folder's lab by default.

    Raises:
        UnknownKernel: no such name in the lab's ``search_spaces``, entry points or bundled kernels.
        DefinitionError: the file can't be run or declares no kernel.
    """
    path, attribute = locate(reference, root=root)
    return _pick(_import(path), path, attribute)


def locate(reference: str, *, root: Path | None = None) -> tuple[Path, str]:
    """Resolve a reference to a file and an attribute (empty for the file's own).

    Raises:
        UnknownKernel: nothing of that name is found.
        DefinitionError: a path was given and there is no such file.
    """
    name, _, attribute = reference.partition(":")
    if name.endswith(".py") or "/" in name:
        path = Path(name) if root is None else root / name
        if not path.is_file():
            raise DefinitionError(str(path), ["there is no such file"])
        return path.resolve(), attribute
    entries = {entry.name: entry for entry in reversed(listing(root))}
    if name not in entries:
        raise UnknownKernel(name, difflib.get_close_matches(name, entries, n=2))
    return entries[name].path, attribute


def listing(root: Path | None = None) -> list[Entry]:
    """List the catalog without running any of it: the lab's own files first, then bundled ones.

    A name that stands twice is the earlier one; both are listed with their origin.
    """
    settings = Settings.discover(root or Path.cwd())
    found: list[Entry] = []
    own, shipped = settings.search_spaces.resolve(), bundled("search_spaces").resolve()
    if own != shipped:
        found += _folder(own, "lab")
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        found += _folder(Path(point.value), point.name)
    return found + _folder(shipped, "bundled")


def bundled(relative: str) -> Path:
    """Return what the wheel carries inside the package and a checkout has beside it."""
    package = Path(__file__).parent
    inside = package / relative
    return inside if inside.exists() else package.parent / relative


def _folder(folder: Path, origin: str) -> list[Entry]:
    return [_entry(path, origin) for path in sorted(folder.glob("*.py")) if path.stem[0] != "_"]


def _entry(path: Path, origin: str) -> Entry:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        return Entry(path.stem, path, origin, error=f"{type(error).__name__}: {error}")
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Entry(path.stem, path, origin, summary)


def _import(path: Path) -> types.ModuleType:
    """Import a file as a member of a private package that stands for its folder."""
    folder = path.parent
    package = f"autotune_lab_catalog_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if package not in sys.modules:
        parent = types.ModuleType(package)
        parent.__path__ = [str(folder)]
        sys.modules[package] = parent
    try:
        return importlib.import_module(f"{package}.{path.stem}")
    except DefinitionError as error:
        raise DefinitionError(str(path), [str(error)]) from error
    except Exception as error:  # a user's file may raise anything
        line = next(
            (f.lineno for f in reversed(traceback.extract_tb(error.__traceback__))
             if f.filename == str(path)),
            getattr(error, "lineno", None),
        )  # fmt: skip
        where = f"{path}:{line}" if line else str(path)
        raise DefinitionError(where, [f"{type(error).__name__}: {error}"]) from error


def _pick(module: types.ModuleType, path: Path, attribute: str) -> KernelDefinition:
    declared = {
        name: value for name, value in vars(module).items() if isinstance(value, KernelDefinition)
    }
    wanted = attribute or (path.stem if path.stem in declared else "")
    if not wanted and len(set(map(id, declared.values()))) == 1:
        wanted = next(iter(declared))
    if wanted in declared:
        return declared[wanted]
    if not declared:
        raise DefinitionError(str(path), ["it declares no KernelDefinition at module level"])
    raise DefinitionError(
        str(path),
        [f"it declares {', '.join(declared)}; choose one with {path.name}:{next(iter(declared))}"],
    )
