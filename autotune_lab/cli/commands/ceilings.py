"""``autotune-lab ceilings``: what a device reaches at best."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import open_store

if TYPE_CHECKING:
    from autotune_lab.records import Hello


def command(
    context: typer.Context,
    device: Annotated[
        list[str] | None,
        typer.Option(help="cuda:0, cuda:0@64sm, replay[:FILE][@MODEL]; repeatable."),
    ] = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="Show what the store holds; measure nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure what a device reaches at best.

    Copy bandwidth, matmul rate by dtype and the time of an empty launch, which winners are held
    against. They are stored for each device and its software; studies use what is stored.
    """
    from autotune_lab.tuning.ceilings import measure_device

    with open_store(context, create=not stored) as store:
        if stored:
            found = store.ceilings()
        else:
            found = [measure_device(spec, store) for spec in device or ["auto"]]
    if as_json:
        show_json([_record(hello) for hello in found])
        return
    rows = [row for hello in found for row in _rows(hello)]
    show(rows, as_json=False, empty="no ceilings yet; run: autotune-lab ceilings")


def _record(hello: "Hello") -> dict[str, Any]:
    return {
        "device_model": hello.device.model.slug,
        "device_uuid": hello.device.uuid,
        "source": hello.device.source.value,
        "driver": hello.environment.driver,
        "torch": hello.environment.torch,
        "triton": hello.environment.triton,
        "measured_at": hello.measured_at or None,
        "launch_floor_ms": hello.launch_floor_ms,
        "copy_gbs": hello.copy_gbs,
        "matmul_tflops": hello.matmul_tflops,
    }


def _rows(hello: "Hello") -> Iterator[dict[str, Any]]:
    """Yield one row for each ceiling, with its unit."""
    floor_us = None if hello.launch_floor_ms is None else hello.launch_floor_ms * 1e3
    measured = [
        ("empty launch", floor_us, "us"),
        ("copy, read plus written", hello.copy_gbs, "GB/s"),
        *((f"matmul {dtype}", rate, "TFLOP/s") for dtype, rate in hello.matmul_tflops.items()),
    ]
    for ceiling, value, unit in measured:
        yield {
            "device_model": hello.device.model.slug,
            "ceiling": ceiling,
            "value": "not measured" if value is None else value,
            "unit": unit,
            "measured": hello.measured_at[:19],
            "note": hello.device.source.notice,
        }
