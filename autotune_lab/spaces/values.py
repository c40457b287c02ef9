"""Turns what users write as a parameter's value into one canonical, JSON-able Python value.

Numbers lose their library's type (``np.int64(4)`` becomes ``4``), and everything else is a str, a
bool, None or a tuple of such. Called wherever a value enters the lab. In an identity, ``1.0`` is
``1``.
"""

import hashlib
import json
import math
import numbers
from collections.abc import Mapping
from typing import Any

from autotune_lab.errors import DefinitionError

Value = int | float | str | bool | None | tuple["Value", ...]


def canonical(value: Any, *, where: str) -> Value:
    """Return the canonical form of a value.

    Raises:
        DefinitionError: the value is of no supported type, or is not a finite number.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, tuple | list):
        return tuple(canonical(item, where=where) for item in value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            raise DefinitionError(where, [f"{value!r} is not a finite number"])
        return number
    kind = type(value)
    if kind.__name__ in ("bool", "bool_") and kind.__module__ == "numpy":
        return bool(value)
    if kind.__name__ == "dtype" and kind.__module__ == "torch":
        return str(value).removeprefix("torch.")
    if kind.__module__.startswith("triton.language") and kind.__name__ in ("dtype", "constexpr"):
        return canonical(getattr(value, "value", str(value)), where=where)
    raise DefinitionError(
        where, [f"{value!r} is a {kind.__name__}; use int, float, str, bool, None or a tuple"]
    )


def to_json(value: Value) -> str:
    """Write a canonical value as strict JSON; ``1`` and ``true`` stay apart, tuples are lists."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def identity(value: Value) -> Value:
    """Return what two equal values share: a whole float becomes an int, a bool stays a bool."""
    if isinstance(value, tuple | list):
        return tuple(identity(item) for item in value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def digest(items: Mapping[str, Any]) -> str:
    """Return 16 hex digits that identify the content, whatever its key order and numeric types."""
    content = {name: identity(value) for name, value in items.items()}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
