"""Puts the kernel files of a study into one folder that Ray copies to every node.

Nodes need not share a file system. A kernel's file goes with the Python files beside it, which it
may import, and keeps its name. A kernel of an installed package is not copied.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from autotune_lab import catalog

_MARKER = "[tool.autotune-lab]\n"


def stage(kernels: Sequence[str], *, root: Path, target: Path) -> dict[str, str]:
    """Copy what the kernels need into an empty folder.

    Args:
        kernels: references, as in a study.
        root: the lab's folder.
        target: becomes the working folder of the nodes' processes.

    Returns:
        kernel -> the reference that finds it from there.

    Raises:
        UnknownKernel: no kernel of that name.
        DefinitionError: there is no such file.
    """
    # So that the copy is a lab of its own, whatever folders are above it.
    (target / "pyproject.toml").write_text(_MARKER)
    folders: dict[Path, str] = {}
    references = {}
    for kernel in kernels:
        attribute = kernel.partition(":")[2]
        path = catalog.find(kernel, root=root)
        if path is None:
            references[kernel] = kernel
            continue
        if path.parent not in folders:
            folders[path.parent] = f"kernels_{len(folders)}"
            _copy(path.parent, target / folders[path.parent])
        suffix = f":{attribute}" if attribute else ""
        references[kernel] = f"{folders[path.parent]}/{path.name}{suffix}"
    return references


def _copy(folder: Path, target: Path) -> None:
    """Copy the Python files of a folder, and its packages."""
    target.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and path.is_file():
            shutil.copy(path, target / path.name)
        elif (path / "__init__.py").is_file() and path.name != "__pycache__":
            _copy(path, target / path.name)
