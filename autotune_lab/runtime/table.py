"""A table of winners in memory, by kernel, device model and problem, small and quick to build.

Entries share what they have in common (configs, devices, environments), because a table may hold
100,000 of them.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autotune_lab.codec import CodecError, from_plain
from autotune_lab.errors import AutotuneLabError, ExportError
from autotune_lab.exporting import json as json_format
from autotune_lab.exporting import table as table_format
from autotune_lab.exporting.base import Options
from autotune_lab.records import DeviceModel, Environment, KernelIdentity, Pick, Resources, Source
from autotune_lab.runtime.shelf import Entry, Shelf
from autotune_lab.spaces.config import Config

_READ_ERRORS = (AutotuneLabError, CodecError, KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class KernelTable:
    """The winners of one kernel.

    Attributes:
        shelves: device model id -> its winners by problem.
        models: device model id -> device model.
        portfolio: configs that serve all devices and problems, the best first.
        default: the default config that was declared when the kernel was tuned.
    """

    name: str
    shelves: dict[str, Shelf] = field(default_factory=dict)
    models: dict[str, DeviceModel] = field(default_factory=dict)
    portfolio: tuple[Config, ...] = ()
    default: Config | None = None

    @property
    def parameters(self) -> set[str]:
        """Names that some config sets."""
        held = [*self.portfolio, *([self.default] if self.default else [])]
        names = {name for config in held for name in config}
        return names.union(*(shelf.parameters for shelf in self.shelves.values()))


class Table:
    """Winners of any number of kernels and devices, and the place that they were read from."""

    def __init__(self, kernels: Mapping[str, KernelTable], origin: str) -> None:
        self._kernels = dict(kernels)
        self.origin = origin

    @classmethod
    def parse(cls, text: str | bytes, origin: str) -> "Table":
        """Read what ``autotune-lab export`` wrote, as ``--format table`` or ``--format json``.

        Raises:
            ExportError: it is no such table, damaged, of a newer schema, or contradicts itself.
        """
        try:
            is_by_column = _schema_at(text, table_format.SCHEMA)
            read = table_format.read_document if is_by_column else json_format.parse
            document = read(text)
            try:
                return cls(_by_column(document) if is_by_column else _by_entry(document), origin)
            except _READ_ERRORS as error:
                if isinstance(error, ExportError):
                    raise
                what = f"the table is damaged: {type(error).__name__}: {error}"
                raise ExportError(what) from error
        except ExportError as error:
            raise ExportError(f"{origin}: {error}") from error

    @classmethod
    def from_picks(cls, picks: Iterable[Pick], origin: str = "picks") -> "Table":
        """Take winners straight from a store.

        Raises:
            ExportError: a time is not finite, or two winners contradict one another.
        """
        return cls.parse(json_format.write(list(picks), options=Options()), origin)

    @classmethod
    def merged(cls, tables: Sequence["Table"]) -> "Table":
        """Return one table of several: an export has a file for each device model.

        Raises:
            ExportError: two winners of different tables contradict one another.
        """
        if len(tables) == 1:
            return tables[0]
        origin = ", ".join(table.origin for table in tables)
        found: dict[str, KernelTable] = {}
        for table in tables:
            for name in table:
                part = table.kernel(name)
                whole = found.setdefault(
                    name, KernelTable(name, portfolio=part.portfolio, default=part.default)
                )
                whole.models.update(part.models)
                for model_id, shelf in part.shelves.items():
                    whole.shelves.setdefault(model_id, Shelf()).update(shelf)
        return cls(found, origin)

    @classmethod
    def empty(cls, origin: str) -> "Table":
        """Return a table without winners: every look-up gives the default."""
        return cls({}, origin)

    def kernel(self, name: str) -> KernelTable:
        """Return the winners of a kernel, none if it is not in the table."""
        return self._kernels.get(name) or KernelTable(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        shelves = (shelf for kernel in self._kernels.values() for shelf in kernel.shelves.values())
        return sum(len(shelf) for shelf in shelves)


def _schema_at(text: str | bytes, schema: str) -> bool:
    """Tell by its text which of the two formats it has; anything else is for json to refuse."""
    quoted = f'"{schema}"'
    return quoted in text if isinstance(text, str) else quoted.encode() in text


def _by_column(document: Mapping[str, Any]) -> dict[str, KernelTable]:
    shared = _Shared(document)
    configs = [shared.config(data) for data in document["configs"]]
    resources = [shared.needs(data) for data in document["resources"]]
    found: dict[str, KernelTable] = {}
    for data in document["shelves"]:
        if Source(data["source"]).is_simulated:
            continue
        identity = shared.kernels[data["kernel_id"]]
        kernel = found.setdefault(
            identity.name,
            KernelTable(
                identity.name,
                portfolio=tuple(configs[n] for n in document["portfolios"][data["kernel_id"]]),
                default=None if data["default"] is None else configs[data["default"]],
            ),
        )
        model = shared.models[data["device_id"]]
        kernel.models[model.id] = model
        entries = (
            Entry(
                config=configs[config],
                kernel=identity,
                environment=shared.environments[data["environment_id"]],
                protocol_id=data["protocol_id"],
                resources=None if needs is None else resources[needs],
                reach_octaves=reach,
                is_partial=bool(is_partial),
                picked_at=sys.intern(picked_at),
            )
            for config, needs, reach, is_partial, picked_at in zip(
                *(data[name] for name in _COLUMNS), strict=True
            )
        )
        shelf = kernel.shelves.setdefault(model.id, Shelf())
        shelf.fill(tuple(data["fields"]), data["values"], entries)
    return found


_COLUMNS = ("config", "resources", "reach_octaves", "is_partial", "picked_at")


def _by_entry(document: Mapping[str, Any]) -> dict[str, KernelTable]:
    shared = _Shared(document)
    found: dict[str, KernelTable] = {}
    for data in document["entries"]:
        if Source(data["source"]).is_simulated:
            continue
        identity = shared.kernels[data["kernel_id"]]
        kernel = found.get(identity.name)
        if kernel is None:
            portfolio = document.get("portfolios", {}).get(data["kernel_id"], ())
            kernel = found[identity.name] = KernelTable(
                identity.name,
                portfolio=tuple(map(shared.config, portfolio)),
                default=shared.optional_config(data["default_config"]),
            )
        model_id = data["device_id"]
        shelf = kernel.shelves.get(model_id)
        if shelf is None:
            shelf = kernel.shelves[model_id] = Shelf()
            kernel.models[model_id] = shared.models[model_id]
        shelf.add(data["problem"], shared.entry(data, identity))
    return found


class _Shared:
    """Builds entries that share their parts."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.models = {
            key: from_plain(DeviceModel, {k: v for k, v in data.items() if k != "uuids"})
            for key, data in document["devices"].items()
        }
        self.environments = {
            key: from_plain(Environment, data) for key, data in document["environments"].items()
        }
        self.kernels = {
            key: from_plain(KernelIdentity, data) for key, data in document["kernels"].items()
        }
        for kept in (self.models, self.environments, self.kernels):
            for key, value in kept.items():
                if value.id != key:
                    kind = type(value).__name__
                    raise ValueError(f"{kind} {key} does not have the identity it is filed under")
        self._configs: dict[Any, Config] = {}
        self._resources: dict[Any, Resources] = {}

    def entry(self, data: Mapping[str, Any], kernel: KernelIdentity) -> Entry:
        evidence = data["evidence"]
        return Entry(
            config=self.config(data["config"]),
            kernel=kernel,
            environment=self.environments[data["environment_id"]],
            protocol_id=sys.intern(data["protocol_id"]),
            resources=self.needs(evidence["resources"]),
            reach_octaves=data.get("reach_octaves"),
            is_partial="partial" in evidence["flags"],
            picked_at=sys.intern(evidence["picked_at"]),
        )

    def config(self, data: Mapping[str, Any]) -> Config:
        key = tuple((k, tuple(v) if isinstance(v, list) else v, type(v)) for k, v in data.items())
        config = self._configs.get(key)
        if config is None:
            config = self._configs[key] = Config.from_plain(data)
        return config

    def optional_config(self, data: Mapping[str, Any] | None) -> Config | None:
        return None if data is None else self.config(data)

    def needs(self, data: Mapping[str, Any] | None) -> Resources | None:
        if data is None:
            return None
        plain = dict(data) | {"compile_ms": None}
        key = tuple(plain.items())
        needs = self._resources.get(key)
        if needs is None:
            needs = self._resources[key] = from_plain(Resources, plain)
        return needs
