"""The exact set of valid configs of a space for one problem and device, or of a recorded table."""

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np

from autotune_lab.errors import DefinitionError, UsageError, did_you_mean
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.constraint import BoundConstraint
from autotune_lab.spaces.enumeration import Codes
from autotune_lab.spaces.parameter import Parameter
from autotune_lab.spaces.values import Value, canonical, identity, to_json


class BoundSpace:
    """Valid configs by number, in lexicographic order of the parameters' values.

    Attributes:
        parameters: with all their declared values, in the order of declaration.
        codes: (size, parameters) integers, the place of each value in its parameter's list; sorted,
            read-only, columns contiguous.
        rejections: how many raw combinations each constraint was the first to reject, by its text.
            With ``size`` they add up to ``raw_size``.
        skipped: constraints that could not be decided because no device was given.
        constraints: texts of all that decided.
    """

    __slots__ = ("_bound", "_places", "codes", "constraints", "parameters", "rejections", "skipped")

    def __init__(
        self,
        parameters: Sequence[Parameter],
        codes: Codes,
        *,
        rejections: Mapping[str, int] | None = None,
        skipped: Sequence[str] = (),
        bound: Sequence[BoundConstraint] = (),
        constraints: Sequence[str] = (),
    ) -> None:
        self.parameters = tuple(parameters)
        self.codes = codes
        self.codes.flags.writeable = False
        self.rejections = dict(rejections or {})
        self.skipped = tuple(skipped)
        self.constraints = tuple(constraints) or tuple(rule.label for rule in bound)
        self._bound = tuple(bound)
        self._places: tuple[dict[Value, int], ...] = tuple(
            {value: code for code, value in enumerate(p.values)} for p in self.parameters
        )

    @classmethod
    def from_rows(
        cls,
        parameters: Sequence[Parameter],
        rows: Iterable[Mapping[str, Any]],
        *,
        constraints: Sequence[str] = (),
    ) -> "BoundSpace":
        """Make a space of exactly these configs, for example those of a recorded table.

        Raises:
            UsageError: a row has other parameters, or a value that its parameter does not list.
            DefinitionError: there are no rows.
        """
        empty = cls(parameters, np.empty((0, len(parameters)), dtype=np.int32))
        coded = sorted({empty.encode(Config(row)) for row in rows})
        if not coded:
            raise DefinitionError("space", ["it has no rows"])
        codes = np.array(coded, dtype=np.int32, order="F")
        return cls(parameters, codes, constraints=constraints)

    @classmethod
    def from_snapshot(
        cls, snapshot: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]
    ) -> "BoundSpace":
        """Make a space of a stored snapshot's parameters and the configs stored beside it.

        Raises:
            UsageError: a row does not fit the snapshot.
            DefinitionError: there are no rows, or the snapshot is no space.
        """
        ordered = set(snapshot["ordered"])
        parameters = [
            Parameter(name, values, name in ordered)
            for name, values in snapshot["parameters"].items()
        ]
        return cls.from_rows(parameters, rows, constraints=snapshot["constraints"])

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in the order of declaration."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def size(self) -> int:
        """Number of valid configs."""
        return len(self.codes)

    @property
    def raw_size(self) -> int:
        """Number of combinations before any constraint."""
        return math.prod(len(parameter.values) for parameter in self.parameters)

    def config(self, index: SupportsIndex) -> Config:
        """Return the config of a row.

        Raises:
            IndexError: there is no such row.
        """
        number = operator.index(index)
        if not 0 <= number < self.size:
            raise IndexError(f"row {number} is not in 0..{self.size - 1}")
        return self._decode(self.codes[number].tolist())

    def index(self, config: Mapping[str, Any]) -> int:
        """Return the row of a config.

        Raises:
            KeyError: it is not a valid config of this space.
        """
        try:
            row = self._find(self.encode(config))
        except UsageError:
            row = None
        if row is None:
            raise KeyError(config)
        return row

    def require(self, config: Mapping[str, Any]) -> Config:
        """Return a config that someone named, if it is valid here.

        Raises:
            UsageError: it is not; the message names the parameter with its values, or the rule.
        """
        codes = self.encode(config)
        wanted = self._decode(codes)
        if self._find(codes) is None:
            raise UsageError(f"config {wanted} is not in the space: {self._why_not(wanted)}")
        return wanted

    def encode(self, config: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the value index of each parameter, whether or not the row is valid.

        Raises:
            UsageError: the names differ, or a value is not in its parameter's list.
        """
        names = self.names
        for name in config:
            if name not in names:
                hint = did_you_mean(name, names)
                raise UsageError(f"config {config}: there is no parameter {name!r}{hint}")
        codes = []
        for parameter, places in zip(self.parameters, self._places, strict=True):
            if parameter.name not in config:
                raise UsageError(f"config {config}: parameter {parameter.name!r} has no value")
            value = config[parameter.name]
            if not isinstance(config, Config):
                value = canonical(value, where=f"config key {parameter.name}")
            code = places.get(value)
            if code is None or not _is_same(value, parameter.values[code]):
                allowed = ", ".join(map(to_json, parameter.values))
                raise UsageError(
                    f"config {config}: {parameter.name}={value!r} is not one of {allowed}"
                )
            codes.append(code)
        return tuple(codes)

    def neighbours(self, config: Mapping[str, Any]) -> list[Config]:
        """Return the valid configs one change away.

        A change is one step up or down in an ordered parameter, or any other value in another one.

        Raises:
            UsageError: the config is not made of this space's values.
        """
        codes = self.encode(config)
        found = []
        for column, parameter in enumerate(self.parameters):
            own = codes[column]
            last = len(parameter.values)
            others = (own - 1, own + 1) if parameter.ordered else range(last)
            for other in others:
                changed = (*codes[:column], other, *codes[column + 1 :])
                if other != own and 0 <= other < last and self._find(changed) is not None:
                    found.append(self._decode(changed))
        return found

    def snapshot(self) -> dict[str, Any]:
        """Return plain data that describes the space where its definition is not at hand."""
        return {
            "parameters": {p.name: list(p.values) for p in self.parameters},
            "ordered": [p.name for p in self.parameters if p.ordered],
            "constraints": list(self.constraints),
            "size": self.size,
        }

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Config]:
        return (self._decode(codes) for codes in map(np.ndarray.tolist, self.codes))

    def __contains__(self, config: object) -> bool:
        try:
            return isinstance(config, Mapping) and self._find(self.encode(config)) is not None
        except UsageError:
            return False

    def __repr__(self) -> str:
        return f"BoundSpace({', '.join(self.names)}: {self.size} of {self.raw_size} valid)"

    def _decode(self, codes: Sequence[int]) -> Config:
        return Config({p.name: p.values[c] for p, c in zip(self.parameters, codes, strict=True)})

    def _find(self, codes: Sequence[int]) -> int | None:
        """Return the row that holds these codes, by binary search column after column."""
        low, high = 0, self.size
        for column, code in enumerate(codes):
            part = self.codes[low:high, column]
            # A code of the column's own type: with a Python int, NumPy would copy the column.
            wanted = np.int32(code)
            low, high = (
                low + int(np.searchsorted(part, wanted, side="left")),
                low + int(np.searchsorted(part, wanted, side="right")),
            )
            if low == high:
                return None
        return low

    def _why_not(self, config: Config) -> str:
        for rule in self._bound:
            if not rule.allows([config[name] for name in rule.names]):
                return f"constraint {rule.label!r} rejects it"
        return f"it is not among the {self.size} recorded configs"


def _is_same(value: Value, other: Value) -> bool:
    """Tell ``True`` from ``1`` and ``(True,)`` from ``(1,)``, which are equal as keys of a dict."""
    if type(value) is type(other) and not isinstance(value, tuple):
        return True
    return to_json(identity(value)) == to_json(identity(other))
