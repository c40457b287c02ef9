"""A config: one value for each meta-parameter, as an immutable mapping with a stable identity."""

from collections.abc import Iterator, Mapping
from typing import Any

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.values import Value, canonical, digest, to_json


class Config(Mapping[str, Value]):
    """One point of a space, for example ``Config(BLOCK_M=128, num_warps=8)``.

    Equal configs have equal ids whatever the order of their keys and whichever library's integers
    they were written with. It unpacks: ``kernel[grid](..., **config)``.

    Raises:
        DefinitionError: a value is of no supported type.
    """

    __slots__ = ("_id", "_items")

    def __init__(self, items: Mapping[str, Any] | None = None, /, **values: Any) -> None:
        merged = {**(items or {}), **values}
        self._items: dict[str, Value] = {
            name: canonical(merged[name], where=f"config key {name}") for name in sorted(merged)
        }
        self._id = digest(self._items)

    @property
    def id(self) -> str:
        """Sixteen hex digits that name this config in the store."""
        return self._id

    @classmethod
    def from_plain(cls, data: Any) -> "Config":
        """Rebuild from a JSON object; lists become tuples.

        Raises:
            DefinitionError: it is not an object, or holds an unsupported value.
        """
        if not isinstance(data, Mapping):
            raise DefinitionError("config", [f"expected an object, got {data!r}"])
        return cls(data)

    def to_json(self) -> str:
        """Return strict JSON with sorted keys."""
        return "{" + ",".join(f'"{k}":{to_json(v)}' for k, v in self._items.items()) + "}"

    def __getitem__(self, name: str) -> Value:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._id == other._id

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self._items.items())

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{k}={v!r}' for k, v in self._items.items())})"

    def __reduce__(self) -> tuple[type["Config"], tuple[dict[str, Value]]]:
        return Config, (dict(self._items),)
