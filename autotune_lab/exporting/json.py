"""Winners as strict JSON with all their evidence: what the runtime loads and reviewers read.

Devices, environments, protocols and kernels are written once and named by identity in each entry.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from autotune_lab import __version__
from autotune_lab.codec import CodecError, from_plain, to_plain
from autotune_lab.definitions import Problem
from autotune_lab.errors import AutotuneLabError, ExportError
from autotune_lab.exporting.base import Format, Options, Table, doubts, ordered
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Pick,
    Protocol,
    Resources,
    Source,
)
from autotune_lab.spaces.config import Config

FORMAT = Format(
    name="json",
    suffix=".json",
    description="all winners of a device model with their evidence; the runtime's own table",
)
SCHEMA = "autotune_lab.winners"
SCHEMA_VERSION = 1
LOOKUP_RULE = (
    "match kernel name and code hash, device identity (never the file name), problem and "
    "environment exactly; anything less is a fallback and has to be reported as one"
)

_TIMES = ("median_ms", "low_ms", "high_ms", "chosen_ms", "default_ms")
_COUNTS = ("rounds", "candidates", "trials", "space_size")


def write(picks: Sequence[Pick], *, options: Options) -> str:
    """Write a table; equal picks give equal bytes, and ``read`` gives them back.

    Raises:
        ExportError: a time is not a finite number.
    """
    entries = [_entry(pick, options) for pick in ordered(picks)]
    contexts = [pick.context for pick in picks]
    document = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "written_by": f"autotune_lab {__version__}",
        "lookup_rule": LOOKUP_RULE,
        "units": {"time": "ms", "size": "bytes", "power": "W"},
        "notices": sorted({c.source.notice for c in contexts} - {""}),
        "devices": {c.model.id: _device(c.model, options) for c in contexts},
        "environments": {c.environment.id: to_plain(c.environment) for c in contexts},
        "protocols": {c.protocol.id: to_plain(c.protocol) for c in contexts},
        "kernels": {c.kernel.id: to_plain(c.kernel) for c in contexts},
        "portfolios": {
            c.kernel.id: [to_plain(config) for config in options.portfolios[c.kernel.id]]
            for c in contexts
            if c.kernel.id in options.portfolios
        },
        "entries": entries,
    }
    try:
        return json.dumps(document, sort_keys=True, indent=1, allow_nan=False) + "\n"
    except ValueError as error:
        raise ExportError(f"json: a winner holds a number that is not finite: {error}") from error


def read(text: str | bytes) -> Table:
    """Read a table back.

    Raises:
        ExportError: it is no such table, is damaged, or was written by a newer version of the lab.
    """
    document = parse(text)
    try:
        devices = {key: _read_device(key, data) for key, data in document["devices"].items()}
        environments = _read_all(Environment, document["environments"])
        protocols = _read_all(Protocol, document["protocols"])
        kernels = _read_all(KernelIdentity, document["kernels"])
        picks = []
        verdicts = {}
        for entry in document["entries"]:
            context = Context(
                kernel=kernels[entry["kernel_id"]],
                problem=Problem.from_plain(entry["problem"]),
                model=devices[entry["device_id"]][0],
                environment=environments[entry["environment_id"]],
                protocol=protocols[entry["protocol_id"]],
                source=Source(entry["source"]),
            )
            picks.append(_read_pick(context, entry))
            if entry["verdict"]:
                verdicts[context.id] = entry["verdict"]
    except (AutotuneLabError, CodecError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ExportError(f"json: the table is damaged: {type(error).__name__}: {error}") from error
    uuids = {key: found for key, (_, found) in devices.items() if found}
    return Table(tuple(picks), uuids, verdicts)


def parse(text: str | bytes) -> dict[str, Any]:
    """Return the raw document after a check of its kind and version; entries are plain objects.

    Raises:
        ExportError: it is no such table, is cut short, or is of a newer version of the lab.
    """
    try:
        document = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ExportError(f"json: not a table of winners, or cut short: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ExportError(f"json: not a table of winners: it does not say schema {SCHEMA!r}")
    version = document.get("schema_version")
    if type(version) is not int or version > SCHEMA_VERSION:
        raise ExportError(
            f"json: schema version {version!r} is newer than {SCHEMA_VERSION}; upgrade autotune_lab"
        )
    return document


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _device(model: DeviceModel, options: Options) -> dict[str, Any]:
    return {**to_plain(model), "uuids": sorted(set(options.device_uuids.get(model.id, ())))}


def _read_device(key: str, data: Mapping[str, Any]) -> tuple[DeviceModel, tuple[str, ...]]:
    fields = dict(data)
    uuids = tuple(str(uuid) for uuid in fields.pop("uuids"))
    model = from_plain(DeviceModel, fields)
    if model.id != key:
        raise ValueError(f"device {key} does not have the identity it is filed under")
    return model, uuids


def _read_all(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: from_plain(kind, item) for key, item in data.items()}
    for key, value in found.items():
        if value.id != key:
            raise ValueError(f"{kind.__name__} {key} does not have the identity it is filed under")
    return found


def _entry(pick: Pick, options: Options) -> dict[str, Any]:
    context = pick.context
    return {
        "kernel": context.kernel.name,
        "kernel_id": context.kernel.id,
        "device_id": context.model.id,
        "environment_id": context.environment.id,
        "protocol_id": context.protocol.id,
        "source": context.source.value,
        "notice": context.source.notice,
        "problem": dict(context.problem),
        "config": to_plain(pick.config),
        "default_config": None if pick.default_config is None else to_plain(pick.default_config),
        "evidence": {name: getattr(pick, name) for name in (*_TIMES, *_COUNTS)}
        | {
            "best_probability": pick.best_probability,
            "tied": list(pick.tied),
            "flags": list(pick.flags),
            "resources": to_plain(pick.resources),
            "picked_at": pick.picked_at,
        },
        "doubts": doubts(pick, options),
        "verdict": options.verdicts.get(context.id, ""),
        "reach_octaves": options.reaches.get(context.id),
    }


def _read_pick(context: Context, entry: Mapping[str, Any]) -> Pick:
    evidence = entry["evidence"]
    default, resources = entry["default_config"], evidence["resources"]
    plain = {name: evidence[name] for name in (*_TIMES, *_COUNTS)}
    return Pick(
        context=context,
        config=Config.from_plain(entry["config"]),
        default_config=None if default is None else Config.from_plain(default),
        best_probability=evidence["best_probability"],
        tied=tuple(evidence["tied"]),
        flags=tuple(evidence["flags"]),
        resources=None if resources is None else from_plain(Resources, resources),
        picked_at=evidence["picked_at"],
        **plain,
    )
