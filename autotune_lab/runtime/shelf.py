"""The winners of one kernel on one device model: by problem, and by what lies near a problem."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autotune_lab.errors import ExportError
from autotune_lab.records import Environment, KernelIdentity, Resources
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.values import Value, canonical

Fields = tuple[str, ...]
Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One winner, as far as a launch needs to know it.

    Attributes:
        reach_octaves: how far away its config was measured to be no worse than the default on
            held-out problems; None if nobody looked.
        is_partial: its search saw less than the whole space.
    """

    config: Config
    kernel: KernelIdentity
    environment: Environment
    protocol_id: str
    resources: Resources | None
    reach_octaves: float | None
    is_partial: bool
    picked_at: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The tuned problem nearest to one that was asked for, or why there is none.

    Attributes:
        distance_octaves: sum over the integer fields of the absolute binary logarithm of the ratio.
        reason: why there is none; ``""`` if there is.
    """

    entries: tuple[Entry, ...] = ()
    problem: Mapping[str, Value] = field(default_factory=dict)
    distance_octaves: float = 0.0
    reason: str = ""


class Shelf:
    """Winners by problem. Of several for one problem (other software, other code), all are kept."""

    __slots__ = ("_by_fields", "_regions", "parameters")

    def __init__(self) -> None:
        self._by_fields: dict[Fields, dict[Values, Entry | tuple[Entry, ...]]] = {}
        self._regions: dict[Fields, dict[Values, _Region]] = {}
        self.parameters: set[str] = set()

    def add(self, problem: Mapping[str, Any], entry: Entry) -> None:
        """Put a winner in its place.

        Raises:
            ExportError: there is another winner for the same problem, code, software and protocol.
        """
        fields, values = key_of(problem)
        group = self._by_fields.setdefault(fields, {})
        held = group.get(values)
        if held is None:
            group[values] = entry
        else:
            others = held if isinstance(held, tuple) else (held,)
            group[values] = _merged(others, entry, dict(zip(fields, values, strict=True)))
        if not self.parameters.issuperset(entry.config):
            self.parameters.update(entry.config)

    def fill(
        self, fields: Fields, columns: Sequence[Sequence[Any]], entries: Iterable[Entry]
    ) -> None:
        """Put many winners of problems with the same fields in their places.

        Args:
            fields: sorted.
            columns: a column of values for each field.
            entries: one for each row.

        Raises:
            ExportError: two winners contradict one another.
            ValueError: the columns differ in length.
        """
        if any(isinstance(value, list) for column in columns for value in column):
            columns = [[canonical(v, where="problem field") for v in column] for column in columns]
        rows = zip(*columns, strict=True)
        group = self._by_fields.setdefault(fields, {})
        last: Config | None = None
        for values, entry in zip(rows, entries, strict=True):
            if values in group:
                self.add(dict(zip(fields, values, strict=True)), entry)
                continue
            group[values] = entry
            if entry.config is not last:  # rows share their configs
                last = entry.config
                self.parameters.update(last)

    def update(self, other: "Shelf") -> None:
        """Put all winners of another shelf in their places.

        Raises:
            ExportError: two winners contradict one another.
        """
        for problem, entry in other:
            self.add(problem, entry)

    def exact(self, problem: Mapping[str, Any]) -> tuple[Entry, ...]:
        """Return the winners of a problem, the most trusted first."""
        fields, values = key_of(problem)
        held = self._by_fields.get(fields, {}).get(values, ())
        return held if isinstance(held, tuple) else (held,)

    def nearest(self, problem: Mapping[str, Any]) -> Neighbour:
        """Return the nearest tuned problem that differs in positive integers only.

        A problem outside the range of what was tuned, in any field, has no neighbour.
        """
        fields, values = key_of(problem)
        if fields not in self._by_fields:
            return Neighbour(reason=self._strange(fields))
        if fields not in self._regions:
            self._regions[fields] = dict(_regions(self._by_fields[fields]))
        kind, sizes = _split(values)
        region = self._regions[fields].get(kind)
        if region is None:
            return Neighbour(reason="nothing of this kind (dtype, layout, ...) was tuned")
        names = [name for name, value in zip(fields, values, strict=True) if _is_size(value)]
        return region.nearest(names, sizes, self._by_fields[fields], fields)

    def _strange(self, fields: Fields) -> str:
        known = " or ".join(sorted(",".join(names) for names in self._by_fields))
        return f"no problem with the fields {','.join(fields)} was tuned, but with {known}"

    def __iter__(self) -> Iterator[tuple[dict[str, Value], Entry]]:
        for fields, group in self._by_fields.items():
            for values, held in group.items():
                for entry in held if isinstance(held, tuple) else (held,):
                    yield dict(zip(fields, values, strict=True)), entry

    def __len__(self) -> int:
        groups = self._by_fields.values()
        return sum(
            len(held) if isinstance(held, tuple) else 1 for g in groups for held in g.values()
        )


class _Region:
    """Tuned problems that differ in sizes only."""

    def __init__(self, keys: list[Values]) -> None:
        self._keys = keys
        sizes = np.array([_split(key)[1] for key in keys], dtype=np.float64).reshape(len(keys), -1)
        self._low, self._high = sizes.min(axis=0), sizes.max(axis=0)
        self._octaves: NDArray[np.float64] = np.log2(sizes)

    def nearest(
        self,
        names: list[str],
        sizes: tuple[int, ...],
        entries: Mapping[Values, Entry | tuple[Entry, ...]],
        fields: Fields,
    ) -> Neighbour:
        for name, size, low, high in zip(names, sizes, self._low, self._high, strict=True):
            if not low <= size <= high:
                return Neighbour(
                    reason=f"{name}={size} is outside the tuned range {low:.0f} to {high:.0f}"
                )
        wanted = np.array([math.log2(size) for size in sizes])
        distances = np.abs(self._octaves - wanted).sum(axis=1)
        row = int(distances.argmin())
        key = self._keys[row]
        held = entries[key]
        return Neighbour(
            entries=held if isinstance(held, tuple) else (held,),
            problem=dict(zip(fields, key, strict=True)),
            distance_octaves=float(distances[row]),
        )


def key_of(problem: Mapping[str, Any]) -> tuple[Fields, Values]:
    """Return a problem's sorted fields and their values, whichever the order it was written in."""
    fields = tuple(sorted(problem))
    return fields, tuple(canonical(problem[name], where=f"problem field {name}") for name in fields)


def _is_size(value: Value) -> bool:
    return type(value) is int and value > 0


def _split(values: Values) -> tuple[Values, tuple[int, ...]]:
    """Part values into what must be equal, with holes, and the sizes that go into the holes."""
    kind = tuple(None if _is_size(value) else (type(value).__name__, value) for value in values)
    return kind, tuple(value for value in values if type(value) is int and value > 0)


def _regions(
    group: Mapping[Values, Entry | tuple[Entry, ...]],
) -> Iterator[tuple[Values, _Region]]:
    keys_by_kind: dict[Values, list[Values]] = {}
    for key in group:
        keys_by_kind.setdefault(_split(key)[0], []).append(key)
    for kind, keys in keys_by_kind.items():
        yield kind, _Region(keys)


def _merged(
    held: tuple[Entry, ...], entry: Entry, problem: Mapping[str, Value]
) -> tuple[Entry, ...]:
    """Sort a further winner in: whole searches before partial ones, then the newest first."""
    for other in held:
        is_same_question = (
            other.kernel.id == entry.kernel.id
            and other.environment.id == entry.environment.id
            and other.protocol_id == entry.protocol_id
            and other.is_partial == entry.is_partial
        )
        if is_same_question and other.config != entry.config:
            raise ExportError(
                f"{entry.kernel.name} {problem}: two winners for one context, {other.config} of "
                f"{other.picked_at or 'no date'} and {entry.config} of "
                f"{entry.picked_at or 'no date'}; export again, or remove one"
            )
    ranked = sorted((*held, entry), key=lambda one: one.picked_at, reverse=True)
    return tuple(sorted(ranked, key=lambda one: one.is_partial))
