"""Parameters: a name and its candidate values, ordered when they are numbers in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.values import Value, canonical, identity


@dataclass(frozen=True, slots=True)
class Parameter:
    """One meta-parameter.

    Attributes:
        name: a Python identifier, as the kernel or Triton takes it.
        values: candidates in the order declared.
        ordered: neighbours are the next smaller and larger value; by default so for increasing
            numbers, and not for text, bools and mixed values.

    Raises:
        DefinitionError: no values, equal values, or a name that is not an identifier.
    """

    name: str
    values: tuple[Value, ...]
    ordered: bool | None = None

    def __post_init__(self) -> None:
        where = f"parameter {self.name}"
        values = tuple(canonical(value, where=where) for value in self.values)
        faults = list(_faults(self.name, values))
        if faults:
            raise DefinitionError(where, faults)
        object.__setattr__(self, "values", values)
        if self.ordered is None:
            object.__setattr__(self, "ordered", _is_increasing(values))

    def index(self, value: Any) -> int:
        """Return the position of a value.

        Raises:
            KeyError: it is not a candidate.
        """
        wanted = _key(canonical(value, where=f"parameter {self.name}"))
        for position, candidate in enumerate(self.values):
            if _key(candidate) == wanted:
                return position
        raise KeyError(value)


def powers_of_two(low: int, high: int) -> list[int]:
    """Return the powers of two from ``low`` to ``high``, both included.

    Raises:
        DefinitionError: a bound is not a power of two, or they are out of order.
    """
    faults = [f"{n} is not a power of two" for n in (low, high) if n < 1 or n & (n - 1)]
    if low > high:
        faults.append(f"{low} is larger than {high}")
    if faults:
        raise DefinitionError(f"powers_of_two({low}, {high})", faults)
    return [1 << shift for shift in range(low.bit_length() - 1, high.bit_length())]


def next_power_of_two(number: int) -> int:
    """Return the smallest power of two that is not below a number; 1 for anything below 1.

    A bucket function: the problem tuned for is never smaller than the one asked for.
    """
    return 1 << max(0, number - 1).bit_length()


def declared(name: str, values: Sequence[Any] | Parameter) -> Parameter:
    """Return a parameter from what a space is given for a name: its values, or itself.

    Raises:
        DefinitionError: it is neither, or not a valid parameter.
    """
    if isinstance(values, Parameter):
        if values.name != name:
            raise DefinitionError(
                f"parameter {name}", [f"it is given a parameter named {values.name!r}"]
            )
        return values
    if isinstance(values, str) or not isinstance(values, Sequence | range):
        try:
            values = list(values) if not isinstance(values, str | bytes) else None  # type: ignore[assignment]
        except TypeError:
            values = None  # type: ignore[assignment]
        if values is None:
            raise DefinitionError(f"parameter {name}", ["it needs a list of values"])
    return Parameter(name, tuple(values))


def _faults(name: str, values: Sequence[Value]) -> Iterator[str]:
    if not name.isidentifier():
        yield f"{name!r} is not an identifier"
    if not values:
        yield "it has no values; list at least one"
    first: dict[Any, Value] = {}
    for value in values:
        # 1 and True are equal to Python and to a dict, so a config could not tell them apart.
        key = _key(int(value) if isinstance(value, bool) else value)
        if key in first:
            yield f"{first[key]!r} and {value!r} are equal; keep one"
        first.setdefault(key, value)


def _key(value: Value) -> tuple[str, Value]:
    plain = identity(value)
    return type(plain).__name__, plain


def _is_increasing(values: Sequence[Value]) -> bool:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and all(a < b for a, b in pairwise(numbers))
