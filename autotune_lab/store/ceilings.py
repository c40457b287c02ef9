"""What devices reach at best, one row a measurement; the last of a device and its software counts.

A context keeps a copy of the ceilings that its times were held against.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, select

from autotune_lab import codec
from autotune_lab.records import Device, DeviceModel, Environment, Hello, Source
from autotune_lab.store import encoding
from autotune_lab.store.decoding import named_damage
from autotune_lab.store.liveness import moment
from autotune_lab.store.parts import insert_absent
from autotune_lab.store.schema import CeilingsRow, DeviceModelRow, EnvironmentRow

_KEY = ("device_uuid", "model_id", "environment_id", "measured_at")


def add(connection: Connection, hello: Hello, now: datetime) -> None:
    """Insert what a worker measured of its device."""
    insert_absent(connection, DeviceModelRow, encoding.model_values(hello.device.model))
    insert_absent(connection, EnvironmentRow, encoding.environment_values(hello.environment))
    values = {
        "device_uuid": hello.device.uuid,
        "model_id": hello.device.model.id,
        "environment_id": hello.environment.id,
        "measured_at": moment(now),
        "source": hello.device.source.value,
        "launch_floor_ms": encoding.number(hello.launch_floor_ms),
        "copy_gbs": encoding.number(hello.copy_gbs),
        "matmul_tflops": codec.to_json(hello.matmul_tflops),
    }
    insert_absent(connection, CeilingsRow, values, key=_KEY)


def newest(connection: Connection) -> list[Hello]:
    """Read the last ceilings of each device under each software, oldest first."""
    last: dict[tuple[str, ...], RowMapping] = {}
    for row in _rows(connection, _select().order_by(CeilingsRow.measured_at)):
        last[tuple(row[name] for name in _KEY[:3])] = row
    return [_hello(row) for row in sorted(last.values(), key=lambda row: row["measured_at"])]


def known(connection: Connection, device: Device, environment: Environment) -> Hello | None:
    """Read the last ceilings of this very device under this very software, if there are any."""
    chosen = _select().where(
        CeilingsRow.device_uuid == device.uuid,
        CeilingsRow.model_id == device.model.id,
        CeilingsRow.environment_id == environment.id,
    )
    found = _rows(connection, chosen.order_by(CeilingsRow.measured_at.desc()).limit(1))
    return _hello(found[0]) if found else None


def _select() -> Select[Any]:
    own = (getattr(CeilingsRow, column.name) for column in CeilingsRow.__table__.c)
    records = (
        DeviceModelRow.record.label("model_record"),
        EnvironmentRow.record.label("environment_record"),
    )
    return (
        select(*own, *records)
        .join(DeviceModelRow, DeviceModelRow.id == CeilingsRow.model_id)
        .join(EnvironmentRow, EnvironmentRow.id == CeilingsRow.environment_id)
    )


def _rows(connection: Connection, chosen: Select[Any]) -> Sequence[RowMapping]:
    return connection.execute(chosen).mappings().all()


def _hello(row: RowMapping) -> Hello:
    with named_damage(f"ceilings of device {row['device_uuid']}"):
        rates = codec.parse(row["matmul_tflops"], "matmul_tflops")
        return Hello(
            device=Device(
                codec.from_json(DeviceModel, row["model_record"]),
                uuid=row["device_uuid"],
                source=Source(row["source"]),
            ),
            environment=codec.from_json(Environment, row["environment_record"]),
            launch_floor_ms=row["launch_floor_ms"],
            copy_gbs=row["copy_gbs"],
            matmul_tflops={str(dtype): float(rate) for dtype, rate in dict(rates).items()},
            measured_at=row["measured_at"],
        )
