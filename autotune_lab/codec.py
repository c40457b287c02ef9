"""Frozen dataclasses to strict JSON and back: the one codec for pipes, the store and exports.

No pickle, so no foreign object can cross a process or enter from a file. Types are read from the
dataclass; unknown and missing keys are errors, and so is any number that is not finite.
"""

import dataclasses
import enum
import functools
import json
import math
import numbers
import types
import typing
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

_SCALARS = frozenset({str, int, float, bool, type(None)})


class CodecError(ValueError):
    """The value has no JSON, or the JSON does not describe a value of the type asked for."""


def to_plain(value: Any, *, sparse: bool = False) -> Any:
    """Turn records, enums, tuples and mappings into dicts, lists and scalars.

    Numbers of other libraries become Python's own. With ``sparse``, fields that hold their default
    are left out; ``from_plain`` puts them back.
    """
    kind = type(value)
    if kind in _SCALARS:
        return value
    if dataclasses.is_dataclass(kind):
        return {
            field.name: to_plain(item, sparse=sparse)
            for field in dataclasses.fields(kind)
            if not (_is_default(field, item := getattr(value, field.name)) and sparse)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item, sparse=sparse) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item, sparse=sparse) for item in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild a value of a type from what ``to_plain`` made of it.

    Raises:
        CodecError: the data does not fit the type; the message says where.
    """
    return typing.cast("T", _decode(kind, data, kind.__name__))


def to_json(value: Any, *, sparse: bool = False) -> str:
    """Write strict JSON (no NaN, no Infinity) with sorted keys.

    Raises:
        CodecError: the value holds a number that is not finite, or something that is no record.
    """
    plain = to_plain(value, sparse=sparse)
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CodecError(f"{type(value).__name__}: has no strict JSON: {error}") from error


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read what ``to_json`` wrote.

    Raises:
        CodecError: the text is not strict JSON, or does not fit the type.
    """
    return from_plain(kind, parse(text, kind.__name__))


def parse(text: str | bytes, where: str) -> Any:
    """Read strict JSON: no NaN, no Infinity, no number too large for a float.

    Raises:
        CodecError: it is not.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{where}: not strict JSON: {error}") from error


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse(text)
    return number


def _is_default(field: "dataclasses.Field[Any]", value: Any) -> bool:
    if field.default_factory is not dataclasses.MISSING:
        return bool(value == field.default_factory())
    return field.default is not dataclasses.MISSING and bool(value == field.default)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    origin, args = get_origin(kind), get_args(kind)
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
    if isinstance(kind, type) and (issubclass(kind, enum.Enum) or hasattr(kind, "from_plain")):
        build = kind if issubclass(kind, enum.Enum) else kind.from_plain
        try:
            return build(data)
        except ValueError as error:
            raise CodecError(f"{where}: {error}") from error
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
    allowed, required = _keys(kind)
    if unknown := sorted(set(data) - allowed):
        raise CodecError(f"{where}: unknown keys {', '.join(unknown)}")
    if missing := [name for name in required if name not in data]:
        raise CodecError(f"{where}: missing keys {', '.join(missing)}")
    hints = _hints(kind)
    values = {name: _decode(hints[name], item, f"{where}.{name}") for name, item in data.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise CodecError(f"{where}: {error}") from error


@functools.cache
def _keys(kind: Any) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the keys that a record may have, and those that it must have."""
    fields = [field for field in dataclasses.fields(kind) if field.init]
    required = (
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )
    return frozenset(field.name for field in fields), tuple(required)


def _decode_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError as error:
            raise CodecError(f"{where}: {error}") from error
    if not isinstance(kind, type) or type(data) is not kind:
        expected = getattr(kind, "__name__", str(kind))
        raise CodecError(f"{where}: expected {expected}, got {data!r}")
    return data
