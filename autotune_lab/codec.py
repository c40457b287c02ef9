"""Frozen dataclasses to strict JSON and back: the one codec for pipes, the store and exports.

No pickle, so no foreign object can cross a process or enter from a file. Types are read from the
dataclass; unknown and missing keys are errors.
"""

import dataclasses
import enum
import functools
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class CodecError(ValueError):
    """The JSON does not describe a value of the type asked for."""


def to_plain(value: Any) -> Any:
    """Turn records, enums, tuples and mappings into dicts, lists and scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild a value of a type from what ``to_plain`` made of it.

    Raises:
        CodecError: the data does not fit the type; the message says where.
    """
    return typing.cast(T, _decode(kind, data, kind.__name__))


def to_json(value: Any) -> str:
    """Write strict JSON (no NaN, no Infinity) with sorted keys."""
    return json.dumps(to_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read what ``to_json`` wrote.

    Raises:
        CodecError: the text is not JSON, or does not fit the type.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{kind.__name__}: not JSON: {error}") from error
    return from_plain(kind, data)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return data
    if origin in (typing.Union, types.UnionType):
        return _decode_union(args, data, where)
    if dataclasses.is_dataclass(kind):
        return _decode_record(kind, data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise CodecError(f"{where}: expected a list, got {data!r}")
        item = args[0]
        return tuple(_decode(item, entry, f"{where}[{i}]") for i, entry in enumerate(data))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise CodecError(f"{where}: expected an object, got {data!r}")
        return {key: _decode(args[1], entry, f"{where}.{key}") for key, entry in data.items()}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(data)
        except ValueError as error:
            raise CodecError(f"{where}: {error}") from error
    if isinstance(kind, type) and hasattr(kind, "from_plain"):
        return kind.from_plain(data)
    return _decode_scalar(kind, data, where)


def _decode_union(options: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in options:
        return None
    failure: CodecError | None = None
    for option in options:
        if option is not type(None):
            try:
                return _decode(option, data, where)
            except CodecError as error:
                failure = error
    raise failure or CodecError(f"{where}: {data!r} is not allowed")


def _decode_record(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise CodecError(f"{where}: expected an object, got {data!r}")
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    if unknown := sorted(set(data) - set(fields)):
        raise CodecError(f"{where}: unknown keys {', '.join(unknown)}")
    required = [
        f.name
        for f in fields.values()
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing := [name for name in required if name not in data]:
        raise CodecError(f"{where}: missing keys {', '.join(missing)}")
    hints = _hints(kind)
    values = {name: _decode(hints[name], item, f"{where}.{name}") for name, item in data.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise CodecError(f"{where}: {error}") from error


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(kind, type) or type(data) is not kind:
        expected = getattr(kind, "__name__", str(kind))
        raise CodecError(f"{where}: expected {expected}, got {data!r}")
    return data
