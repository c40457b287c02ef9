"""What a device reaches at best: taken from the store if it was measured, else measured and stored.

It depends on the card and its software, not on kernels, so one measurement serves every start of
the device's process and every study.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from autotune_lab.devices.opening import capabilities_of
from autotune_lab.errors import UsageError
from autotune_lab.execution.base import Executor
from autotune_lab.execution.opening import open_executor
from autotune_lab.records import Hello, Limits, Source
from autotune_lab.store.store import Store


def settled(hello: Hello, executor: Executor, store: Store) -> Hello:
    """Return a started device's greeting with its ceilings.

    Only a GPU is measured: a recording brings its own, and nothing else has any.

    Raises:
        WorkerLost: the device's process did not survive the measuring.
    """
    if hello.device.source is not Source.GPU:
        return hello
    known = store.known_ceilings(hello.device, hello.environment) or measured(executor, store)
    return replace(
        hello,
        copy_gbs=known.copy_gbs,
        matmul_tflops=known.matmul_tflops,
        measured_at=known.measured_at,
    )


def measured(executor: Executor, store: Store) -> Hello:
    """Measure a started device's ceilings and keep them.

    Raises:
        WorkerLost: the device's process did not survive it.
    """
    hello = executor.ceilings()
    if hello.device.source is not Source.GPU:
        return hello
    store.add_ceilings(hello)
    return store.known_ceilings(hello.device, hello.environment) or hello


def measure_device(spec: str, store: Store) -> Hello:
    """Measure the ceilings of a device that nobody holds, and keep them.

    Raises:
        UsageError: it is no GPU and no recording of one, so it has none.
        DeviceError: it can't be had.
    """
    can = capabilities_of(spec)
    if not (can.compiles or can.recorded):
        raise UsageError(
            f"device {spec!r} has no ceilings, for its times say nothing about any GPU; "
            "use cuda:0, or replay for those of a recording"
        )
    with tempfile.TemporaryDirectory(prefix="autotune-lab-") as logs:
        executor = open_executor(spec, Limits(), log_dir=Path(logs))
        try:
            executor.start()
            return measured(executor, store)
        finally:
            executor.close()
