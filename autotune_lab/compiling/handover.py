"""Carries compiled binaries from one Triton cache folder to another, where none is shared.

An entry is a subfolder of the cache named by the digest of what was compiled, so a lost one is only
missed: a failed hand-over costs a compilation, never correctness.
"""

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

# Triton lists the files of an entry, by absolute paths, in a file of this prefix.
_GROUP = "__grp__"


def entries(cache: Path) -> set[str]:
    """Name the entries of a cache folder."""
    return {path.name for path in cache.iterdir() if path.is_dir()} if cache.is_dir() else set()


def take(cache: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Return the files of kernels' entries, by path in the cache.

    Launchers and other libraries of the machine, which have no group, stay where they are.
    """
    files: dict[str, bytes] = {}
    for name in sorted(names):
        found = [path for path in (cache / name).iterdir() if path.is_file()]
        if any(path.name.startswith(_GROUP) for path in found):
            files |= {f"{name}/{path.name}": path.read_bytes() for path in found}
    return files


def put(files: Mapping[str, bytes], cache: Path) -> None:
    """Write files into another cache; what is there already stays, and paths can't leave it."""
    # The group comes last: an entry without it is no entry.
    for relative in sorted(files, key=lambda name: PurePosixPath(name).name.startswith(_GROUP)):
        parts = PurePosixPath(relative).parts
        if len(parts) != 2 or ".." in parts or PurePosixPath(relative).is_absolute():
            continue
        entry, name = parts
        target = cache / entry / name
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        data = files[relative]
        if name.startswith(_GROUP):
            data = _moved(data, target.parent)
        unfinished = target.with_name(f"{name}.{uuid.uuid4().hex}.part")
        unfinished.write_bytes(data)
        unfinished.replace(target)


def _moved(group: bytes, folder: Path) -> bytes:
    listed: dict[str, str] = json.loads(group)["child_paths"]
    moved = {name: str(folder / PurePosixPath(path).name) for name, path in listed.items()}
    return json.dumps({"child_paths": moved}).encode()
