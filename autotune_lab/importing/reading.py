"""Opens a file of foreign results, finds its format and reads it whole or not at all."""

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autotune_lab import plugins
from autotune_lab.errors import ImportFailed
from autotune_lab.importing.base import Imported, Origin

# 11,130 configs of 32 samples unfold to 10 MB.
_MOST_BYTES = 2**30
_GZIP_MAGIC = b"\x1f\x8b"


def read(path: Path, *, device_name: str = "", kernel: str = "") -> Imported:
    """Read a file of any known format.

    Args:
        path: ``.json`` or ``.json.gz``.
        device_name: of the GPU it was measured on, before what the file says.
        kernel: its name, before what the file says.

    Raises:
        ImportFailed: the file is absent, damaged or of no known format; says where and why.
    """
    document = _document(path)
    found = plugins.find("importing")
    for plugin in found.values():
        module = plugin.load()
        if module.recognises(document):
            imported: Imported = module.parse(document, Origin(path, device_name, kernel))
            return imported
    keys = ", ".join(list(document)[:6]) or "none"
    raise ImportFailed(
        f"{path}: is of no known format (its keys: {keys}); known are {', '.join(found)}"
    )


def _document(path: Path) -> Mapping[str, Any]:
    text = _text(path)
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ImportFailed(f"{path}: is nested too deeply to be results") from error
    except ValueError as error:
        document = _left_open(text)
        if document is None:
            raise ImportFailed(f"{path}: {_place(error)}") from error
    if not isinstance(document, dict):
        raise ImportFailed(f"{path}: holds a {type(document).__name__}, not an object")
    return document


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP_MAGIC):
            with gzip.open(path, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ImportFailed(f"{path}: can't be read: {error}") from error
    if len(data) > _MOST_BYTES:
        raise ImportFailed(f"{path}: unfolds to over {_MOST_BYTES} bytes, so it is no results file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{path}: is no text at byte {error.start}") from error


def _left_open(text: str) -> Any:
    """Close what Kernel Tuner leaves open while it works; None if an entry was cut in two."""
    try:
        return json.loads(text.rstrip().removesuffix(",") + "}}")
    except (ValueError, RecursionError):
        return None


def _place(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return (
            f"line {error.lineno}, column {error.colno}: {error.msg.lower()}; the file is damaged"
        )
    return f"is not JSON: {error}"
