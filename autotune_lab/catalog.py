"""Finds kernel definitions: by path, in a lab's folder, in installed packages, then bundled ones.

Files are loaded by path under a private package for each folder, so ``from ._shared import x``
works, equal file names in two folders coexist, and ``sys.path`` stays as it is.
"""

import ast
import hashlib
import importlib
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from autotune_lab.absence import triton_or_stand_in
from autotune_lab.definitions import KernelDefinition
from autotune_lab.errors import (
    AutotuneLabError,
    DefinitionError,
    UnknownKernel,
    UsageError,
    closest,
    did_you_mean,
)
from autotune_lab.settings import Settings

ENTRY_POINTS = "autotune_lab.kernels"
PACKAGE_PREFIX = "autotune_lab_catalog_"


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel file as its text shows it; nothing was imported.

    Attributes:
        origin: the file, relative to the lab if it is inside, or the installed distribution.
        summary: the first line of its docstring.
        error: why it can't be read, else ``""``.
    """

    name: str
    origin: str
    summary: str = ""
    error: str = ""


def load(reference: str, *, root: Path | None = None) -> KernelDefinition:
    """Return the definition that a reference names.

    Args:
        reference: ``"matmul"``, ``"path/file.py"`` or ``"path/file.py:attribute"``. A file that
            defines several kernels and none of its own name needs the attribute.
        root: a folder of the lab; by default the working folder.

    Raises:
        UnknownKernel: no kernel of that name.
        DefinitionError: there is no such file, it can't be imported, or defines no kernel or
            several.
    """
    source, _, attribute = reference.partition(":")
    found = _find(source, root)
    if isinstance(found, EntryPoint):
        return _from_entry_point(found, attribute)
    return _from_file(found, attribute)


def find(reference: str, *, root: Path | None = None) -> Path | None:
    """Return the file that ``load`` would read; None for a kernel of an installed package.

    Raises:
        UnknownKernel: no kernel of that name.
        DefinitionError: there is no such file.
    """
    found = _find(reference.partition(":")[0], root)
    return found if isinstance(found, Path) else None


def _find(source: str, root: Path | None) -> Path | EntryPoint:
    lab = Settings.discover(root or Path.cwd())
    if source.endswith(".py") or "/" in source:
        path = _existing(Path(source).expanduser(), lab.root / source)
        if path is None:
            raise DefinitionError(source, ["there is no such file"])
        return path
    if (path := _existing(lab.search_spaces / f"{source}.py")) and not source.startswith("_"):
        return path
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == source:
            return point
    if (path := _existing(bundled("search_spaces") / f"{source}.py")) and source[0] != "_":
        return path
    raise UnknownKernel(source, closest(source, [entry.name for entry in listing(lab.root)]))


def listing(root: Path | None = None) -> list[Entry]:
    """List the kernels that ``load`` finds by name, sorted, without importing any of them."""
    lab = Settings.discover(root or Path.cwd())
    shipped = {path.stem: path for path in _kernel_files(bundled("search_spaces"))}
    entries = {name: _read_entry(path, "bundled") for name, path in shipped.items()}
    for point in entry_points(group=ENTRY_POINTS):
        origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        entries[point.name] = Entry(point.name, origin, point.value)
    for path in _kernel_files(lab.search_spaces):
        inside = path.is_relative_to(lab.root)
        origin = str(path.relative_to(lab.root) if inside else path)
        if path.stem in entries and shipped.get(path.stem) != path:
            origin += f", instead of {entries[path.stem].origin}"
        entries[path.stem] = _read_entry(path, origin)
    return [entries[name] for name in sorted(entries)]


def bundled(relative: str) -> Path:
    """Return a file or folder that ships with the lab, in a wheel as in a checkout.

    Raises:
        UsageError: this installation lacks it.
    """
    package = Path(__file__).parent
    for place in (package / relative, package.parent / relative):
        if place.exists():
            return place
    raise UsageError(f"{relative} is missing from this installation of autotune-lab; reinstall it")


def _kernel_files(folder: Path) -> Iterator[Path]:
    """Yield the kernel files of a folder; names that start with an underscore are helpers."""
    return (path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_"))


def _existing(*places: Path) -> Path | None:
    return next((place.resolve() for place in places if place.is_file()), None)


def _read_entry(path: Path, origin: str) -> Entry:
    try:
        docstring = ast.get_docstring(ast.parse(path.read_bytes(), str(path))) or ""
    except (SyntaxError, ValueError, OSError) as error:
        line = getattr(error, "lineno", None)
        where = f"{path.name}:{line}" if line else path.name
        what = getattr(error, "msg", None) or str(error)
        return Entry(path.stem, origin, error=f"{where}: {type(error).__name__}: {what}")
    return Entry(path.stem, origin, docstring.partition("\n")[0].strip())


class _SourceLoader(SourceFileLoader):
    """Compiles what the file says now and leaves nothing beside it.

    A ``.pyc`` is trusted by size and whole second, so a quick edit could go unseen, and a folder of
    kernels may be read-only.
    """

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(f"no compiled copy of {path} is looked for")


def _import_file(path: Path) -> types.ModuleType:
    """Import a file as a module of its folder's private package.

    Raises:
        DefinitionError: it can't be imported; the message has the file and the line.
    """
    if not path.stem.isidentifier():
        raise DefinitionError(str(path), ["the file's name is not an identifier; rename it"])
    package = _package_of(str(path.parent))
    importlib.invalidate_caches()  # the file may be younger than the last look into its folder
    try:
        with triton_or_stand_in():
            return importlib.import_module(f"{package}.{path.stem}")
    except (Exception, SystemExit) as error:
        what = str(error) if isinstance(error, AutotuneLabError) else _described(error)
        raise DefinitionError(_line_of(error, path), [what]) from error


def _package_of(folder: str) -> str:
    """Return the name of a folder's private package, made on first use."""
    package = PACKAGE_PREFIX + hashlib.sha256(folder.encode()).hexdigest()[:16]
    if package not in sys.modules:
        parent = types.ModuleType(package, f"Kernel files of {folder}.")
        parent.__path__ = [folder]
        sys.modules[package] = parent
        sys.path_importer_cache[folder] = FileFinder(
            folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_SourceLoader, SOURCE_SUFFIXES)
        )
    return package


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _line_of(error: BaseException, path: Path) -> str:
    """Return ``file:line`` of the last line in the kernel's folder that an error passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == path.parent]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(path)


def _from_file(path: Path, attribute: str) -> KernelDefinition:
    return _choose(_import_file(path), str(path), path.stem, attribute)


def _from_entry_point(point: EntryPoint, attribute: str) -> KernelDefinition:
    try:
        with triton_or_stand_in():
            found = point.load()
    except Exception as error:
        raise DefinitionError(point.value, [_described(error)]) from error
    if isinstance(found, KernelDefinition):
        return found
    return _choose(found, point.value, point.name, attribute)


def _choose(module: object, where: str, stem: str, attribute: str) -> KernelDefinition:
    """Choose the definition that a module is loaded for.

    Raises:
        DefinitionError: there is none, or none of several is meant more than the others.
    """
    kernels = {n: v for n, v in vars(module).items() if isinstance(v, KernelDefinition)}
    if attribute:
        if attribute not in kernels:
            hint = did_you_mean(attribute, kernels)
            raise DefinitionError(where, [f"it defines no kernel {attribute!r}{hint}"])
        return kernels[attribute]
    distinct = list({id(kernel): kernel for kernel in kernels.values()}.values())
    named = kernels.get(stem) or next((k for k in distinct if k.name == stem), None)
    if named is None and len(distinct) == 1:
        named = distinct[0]
    if named is not None:
        return named
    if not distinct:
        raise DefinitionError(where, ["it defines no KernelDefinition at its top level"])
    choices = " or ".join(f"{where}:{name}" for name in kernels)
    raise DefinitionError(where, [f"it defines several kernels, name one of them: {choices}"])
