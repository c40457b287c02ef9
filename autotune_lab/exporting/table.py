"""Winners by column, for production: what a launch needs and no evidence beyond the times.

A table of 100,000 winners takes 5 MB and a fraction of a second, where the ``json`` format, made
for reviewers, takes 100 MB. Values that repeat (configs, resources, dates) are written once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autotune_lab import __version__
from autotune_lab.codec import CodecError, parse, to_json, to_plain
from autotune_lab.errors import ExportError
from autotune_lab.exporting.base import Format, Options, model_stem, ordered
from autotune_lab.records import Pick
from autotune_lab.spaces.values import to_json as value_to_json

FORMAT = Format(
    name="table",
    suffix=".table.json",
    description="the winners of a device model by column: small, quick to load, for the runtime",
    stem=model_stem,
)
SCHEMA = "autotune_lab.table"
SCHEMA_VERSION = 1


def write(picks: Sequence[Pick], *, options: Options) -> str:
    """Write a table; the same picks in any order give the same text.

    Raises:
        ExportError: a time is not a finite number.
    """
    chosen = ordered(picks)
    contexts = [pick.context for pick in chosen]
    configs, resources = _Numbered(), _Numbered()
    groups: dict[tuple[str, ...], list[Pick]] = {}
    for pick in chosen:
        groups.setdefault(_group(pick), []).append(pick)
    shelves = [_shelf(group, options, configs, resources) for _, group in sorted(groups.items())]
    kernels = {context.kernel.id: context.kernel for context in contexts}
    document = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "written_by": f"autotune_lab {__version__}",
        "units": {"time": "ms", "size": "bytes", "power": "W"},
        "devices": {context.model.id: to_plain(context.model) for context in contexts},
        "environments": {c.environment.id: to_plain(c.environment) for c in contexts},
        "kernels": {key: to_plain(kernel) for key, kernel in kernels.items()},
        "portfolios": {
            key: [configs.number(config) for config in options.portfolios.get(key, ())]
            for key in kernels
        },
        "shelves": shelves,
        "configs": configs.values,
        "resources": resources.values,
    }
    try:
        return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"
    except ValueError as error:
        raise ExportError(f"table: a winner holds a number that is not finite: {error}") from error


def read_document(text: str | bytes) -> dict[str, Any]:
    """Return the raw document after a check of its kind and version.

    Raises:
        ExportError: it is no such table, is cut short, or is of a newer version of the lab.
    """
    try:
        document = parse(text, "table")
    except CodecError as error:
        raise ExportError(f"table: not a table of winners, or cut short: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ExportError(f"table: not a table of winners: it does not say schema {SCHEMA!r}")
    version = document.get("schema_version")
    if type(version) is not int or version > SCHEMA_VERSION:
        raise ExportError(
            f"table: schema version {version!r} is newer than {SCHEMA_VERSION}; "
            "upgrade autotune_lab"
        )
    return document


class _Numbered:
    """Values by number, each written once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        key = to_json(value)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(to_plain(value))
        return self._numbers[key]


def _group(pick: Pick) -> tuple[str, ...]:
    context = pick.context
    return (
        context.kernel.id,
        context.model.id,
        context.environment.id,
        context.protocol.id,
        context.source.value,
        *sorted(context.problem),
    )


def _shelf(
    picks: Sequence[Pick], options: Options, configs: _Numbered, resources: _Numbered
) -> Mapping[str, Any]:
    """Write winners that differ in their problems' values only, a column for each field."""
    first = picks[0]
    context = first.context
    fields = sorted(context.problem)
    return {
        "kernel_id": context.kernel.id,
        "device_id": context.model.id,
        "environment_id": context.environment.id,
        "protocol_id": context.protocol.id,
        "source": context.source.value,
        "fields": fields,
        "values": [_column(pick.context.problem[field] for pick in picks) for field in fields],
        "config": [configs.number(pick.config) for pick in picks],
        "default": None if first.default_config is None else configs.number(first.default_config),
        "resources": [
            None if pick.resources is None else resources.number(pick.resources) for pick in picks
        ],
        "median_ms": [pick.median_ms for pick in picks],
        "default_ms": [pick.default_ms for pick in picks],
        "rounds": [pick.rounds for pick in picks],
        "reach_octaves": [options.reaches.get(pick.context.id) for pick in picks],
        "is_partial": [int("partial" in pick.flags) for pick in picks],
        "picked_at": [pick.picked_at for pick in picks],
    }


def _column(values: Iterable[Any]) -> list[Any]:
    return [json.loads(value_to_json(value)) for value in values]
