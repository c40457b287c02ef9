"""A meta-parameter: a name and the finite list of values that it may take."""

import keyword
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.values import Value, canonical

# What constraints call the device, the problem and the bytes of one element.
RESERVED = frozenset({"device", "problem", "itemsize"})


@dataclass(frozen=True, slots=True, init=False)
class Parameter:
    """One meta-parameter, for example ``Parameter("BLOCK_M", [32, 64, 128])``.

    Numbers are kept in ascending order however they were written, so that a step up or down means
    the same everywhere; other values keep the order in which they were declared.

    Attributes:
        name: as the kernel or Triton spells it.
        values: distinct canonical values.
        ordered: a step between neighbouring values is meaningful; by default true for numbers. Give
            False for numbers that are mere names, True for words that have an order.

    Raises:
        DefinitionError: no values, two equal values, or a value of no supported type.
    """

    name: str
    values: tuple[Value, ...]
    ordered: bool

    def __init__(self, name: str, values: Iterable[Any], ordered: bool | None = None) -> None:
        where = f"parameter {name!r}"
        if faults := list(_name_faults(name)):
            raise DefinitionError(where, faults)
        distinct = _distinct(where, _listed(where, values))
        is_numeric = all(_is_number(value) for value in distinct)
        is_ordered = is_numeric if ordered is None else ordered
        if is_ordered and is_numeric:
            distinct = tuple(sorted(distinct, key=_number))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", distinct)
        object.__setattr__(self, "ordered", is_ordered)


def powers_of_two(low: int, high: int) -> tuple[int, ...]:
    """Return the powers of two from ``low`` to ``high``, both included.

    Raises:
        DefinitionError: there is none between them.
    """
    powers = tuple(1 << k for k in range(high.bit_length()) if low <= 1 << k <= high)
    if not powers:
        raise DefinitionError(
            f"powers_of_two({low}, {high})", ["no power of two lies between them"]
        )
    return powers


def next_power_of_two(n: int) -> int:
    """Return the least power of two that is not below ``n``; for ``buckets`` of a definition.

    Raises:
        DefinitionError: ``n`` is below 1.
    """
    if n < 1:
        raise DefinitionError(f"next_power_of_two({n})", ["it is defined from 1 up"])
    return 1 << (n - 1).bit_length()


def _name_faults(name: str) -> Iterator[str]:
    if not name.isidentifier() or keyword.iskeyword(name):
        yield "the name is not an identifier, so no kernel can take it"
    if name in RESERVED:
        yield f"constraints use {name!r} for something else; rename it"


def _listed(where: str, values: Any) -> list[Any]:
    """Return the values as a list; a bare value, a word or a set is refused, not guessed at."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DefinitionError(where, [f"{values!r} is not a list of values; write [{values!r}]"])
    if isinstance(values, set | frozenset):
        raise DefinitionError(where, [f"{values!r} is a set and has no order; write a list"])
    listed = list(values)
    if not listed:
        raise DefinitionError(where, ["its list of values is empty"])
    return listed


def _distinct(where: str, written: list[Any]) -> tuple[Value, ...]:
    """Return canonical values; all equal pairs are reported, as they were written."""
    first: dict[Value, Any] = {}
    faults = []
    for item in written:
        value = canonical(item, where=where)
        if value in first:  # Python's equality: 1, 1.0 and True are one key of every cache
            faults.append(f"values {first[value]!r} and {item!r} are equal")
        else:
            first[value] = item
    if faults:
        raise DefinitionError(where, faults)
    return tuple(first)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Value) -> float:
    assert isinstance(value, int | float)
    return value
