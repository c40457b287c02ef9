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
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

_SCALARS = frozenset({str, int, float, bool, type(None)})


Decoder = Callable[[Any], Any]


class CodecError(ValueError):
    """The value has no JSON, or the JSON does not describe a value of the type asked for.

    The message starts with where in the value it is: ``Trial.measurements[2].phase: ...``.
    """

    def __init__(self, what: str, path: str = "") -> None:
        self.what = what
        self.path = path
        super().__init__(f"{path}: {what}" if path else what)

    def inside(self, step: str) -> "CodecError":
        """Return the same error as seen from one level further out."""
        return CodecError(self.what, step + self.path)


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
    try:
        decode = _decoder(typing.cast("Any", kind))
        return typing.cast("T", decode(data))
    except CodecError as error:
        raise error.inside(kind.__name__) from error


def to_json(value: Any, *, sparse: bool = False, sort_keys: bool = True) -> str:
    """Write strict JSON (no NaN, no Infinity), by default with sorted keys.

    Raises:
        CodecError: the value holds a number that is not finite, or something that is no record.
    """
    plain = to_plain(value, sparse=sparse)
    try:
        return json.dumps(plain, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CodecError(f"has no strict JSON: {error}", type(value).__name__) from error


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
        raise CodecError(f"not strict JSON: {error}", where) from error


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
def _decoder(kind: Any) -> Decoder:
    """Return the function that decodes a type; found once a type, not once a value."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda data: data
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(args)
    if dataclasses.is_dataclass(kind):
        return _record_decoder(kind)
    if origin is tuple:
        return _tuple_decoder(_decoder(args[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_decoder(_decoder(args[1]))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _built(kind)
    if isinstance(kind, type) and hasattr(kind, "from_plain"):
        return _built(kind.from_plain)
    return _scalar_decoder(kind)


def _union_decoder(options: tuple[Any, ...]) -> Decoder:
    decoders = [_decoder(option) for option in options if option is not type(None)]
    is_optional = type(None) in options

    def decode(data: Any) -> Any:
        if data is None and is_optional:
            return None
        for decoder in decoders[:-1]:
            try:
                return decoder(data)
            except CodecError:
                continue
        return decoders[-1](data)

    return decode


def _record_decoder(kind: Any) -> Decoder:
    hints = get_type_hints(kind)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    decoders = {field.name: _decoder(hints[field.name]) for field in fields}
    build = _built(lambda values: kind(**values))
    required = [
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]

    def decode(data: Any) -> Any:
        if not isinstance(data, dict):
            raise CodecError(f"expected an object, got {data!r}")
        if unknown := sorted(data.keys() - decoders.keys()):
            raise CodecError(f"unknown keys {', '.join(unknown)}")
        if missing := [name for name in required if name not in data]:
            raise CodecError(f"missing keys {', '.join(missing)}")
        values = {}
        for name, item in data.items():
            try:
                values[name] = decoders[name](item)
            except CodecError as error:
                raise error.inside(f".{name}") from error
        return build(values)

    return decode


def _tuple_decoder(decoder: Decoder) -> Decoder:
    def decode(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise CodecError(f"expected a list, got {data!r}")
        values = []
        for position, item in enumerate(data):
            try:
                values.append(decoder(item))
            except CodecError as error:
                raise error.inside(f"[{position}]") from error
        return tuple(values)

    return decode


def _mapping_decoder(decoder: Decoder) -> Decoder:
    def decode(data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise CodecError(f"expected an object, got {data!r}")
        values = {}
        for key, item in data.items():
            try:
                values[key] = decoder(item)
            except CodecError as error:
                raise error.inside(f".{key}") from error
        return values

    return decode


def _built(build: Decoder) -> Decoder:
    """Return a decoder that lets a type judge its own data."""

    def decode(data: Any) -> Any:
        try:
            return build(data)
        except CodecError:
            raise
        except ValueError as error:
            raise CodecError(str(error)) from error

    return decode


def _scalar_decoder(kind: Any) -> Decoder:
    def decode(data: Any) -> Any:
        if type(data) is kind:
            return data
        if kind is float and type(data) is int:
            try:
                return float(data)
            except OverflowError as error:
                raise CodecError(str(error)) from error
        expected = getattr(kind, "__name__", str(kind))
        raise CodecError(f"expected {expected}, got {data!r}")

    return decode
