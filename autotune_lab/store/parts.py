"""What a context is made of, inserted once however many processes meet it first."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from autotune_lab import codec
from autotune_lab.records import Context, Hello, SpaceSnapshot, Work
from autotune_lab.store import encoding
from autotune_lab.store.liveness import moment
from autotune_lab.store.schema import (
    Base,
    ContextRow,
    DeviceModelRow,
    DeviceRow,
    EnvironmentRow,
    KernelRow,
    ProblemRow,
    ProtocolRow,
)


def insert_absent(
    connection: Connection,
    table: type[Base],
    values: Mapping[str, Any],
    *,
    key: Sequence[str] = ("id",),
) -> bool:
    """Insert a row unless one of its key is there; return whether it was inserted."""
    same = [getattr(table, name) == values[name] for name in key]
    if connection.execute(select(getattr(table, key[0])).where(*same)).first() is not None:
        return False
    try:
        with connection.begin_nested():
            connection.execute(insert(table).values(values))
    except IntegrityError:
        # Only where writers are not serialized (PostgreSQL) may another have come between.
        if connection.execute(select(getattr(table, key[0])).where(*same)).first() is None:
            raise
        return False
    return True


def put_context(
    connection: Connection,
    context: Context,
    space: SpaceSnapshot,
    work: Work,
    hello: Hello | None,
    now: datetime,
) -> None:
    """Insert or refresh a context: its space, its work and its ceilings are those seen last."""
    _put_parts(connection, context)
    if hello is not None and hello.device.uuid:
        insert_absent(connection, DeviceModelRow, encoding.model_values(hello.device.model))
        device = {
            "uuid": hello.device.uuid,
            "model_id": hello.device.model.id,
            "first_seen_at": moment(now),
        }
        insert_absent(connection, DeviceRow, device, key=("uuid", "model_id"))
    facts = {
        "opened_at": moment(now),
        "space": codec.to_json(space),
        "work_bytes": encoding.number(work.bytes),
        "work_flops": encoding.number(work.flops),
        **(_ceilings(hello) if hello is not None else {}),
    }
    identity = {
        "id": context.id,
        "kernel_id": context.kernel.id,
        "problem_id": context.problem.id,
        "model_id": context.model.id,
        "environment_id": context.environment.id,
        "protocol_id": context.protocol.id,
        "source": context.source.value,
        "created_at": moment(now),
    }
    if not insert_absent(connection, ContextRow, {**identity, **facts}):
        connection.execute(update(ContextRow).where(ContextRow.id == context.id).values(facts))


def _put_parts(connection: Connection, context: Context) -> None:
    kernel = encoding.kernel_values(context.kernel)
    if not insert_absent(connection, KernelRow, kernel) and context.kernel.reference:
        # The file may have moved; where it is now is no part of what it is.
        connection.execute(
            update(KernelRow)
            .where(
                KernelRow.id == context.kernel.id,
                KernelRow.reference != context.kernel.reference,
            )
            .values(reference=context.kernel.reference)
        )
    insert_absent(connection, ProblemRow, encoding.problem_values(context.problem))
    insert_absent(connection, DeviceModelRow, encoding.model_values(context.model))
    insert_absent(connection, EnvironmentRow, encoding.environment_values(context.environment))
    insert_absent(connection, ProtocolRow, encoding.protocol_values(context.protocol))


def _ceilings(hello: Hello) -> dict[str, Any]:
    """Return what the worker knows of its ceilings; what it does not know overwrites nothing."""
    found: dict[str, Any] = {
        "launch_floor_ms": encoding.number(hello.launch_floor_ms),
        "copy_gbs": encoding.number(hello.copy_gbs),
        "matmul_tflops": codec.to_json(hello.matmul_tflops) if hello.matmul_tflops else None,
    }
    return {name: value for name, value in found.items() if value is not None}
