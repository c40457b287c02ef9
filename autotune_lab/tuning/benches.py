"""Opens what a phase works with: the device in its process, the compilers beside it, the store.

Everything is given back at the end of the block, however it ends.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from autotune_lab.compiling.pool import CompilePool
from autotune_lab.devices.opening import capabilities_of
from autotune_lab.execution.base import Unit
from autotune_lab.execution.opening import open_executor
from autotune_lab.records import Hello, Limits
from autotune_lab.store.store import Store
from autotune_lab.tuning.bench import Bench
from autotune_lab.tuning.ceilings import settled
from autotune_lab.tuning.events import Observer


@contextlib.contextmanager
def open_bench(
    device: str,
    store: Store,
    run_id: int,
    *,
    limits: Limits,
    logs: Path,
    observe: Observer,
    compile_workers: int | None = None,
) -> Iterator[tuple[Bench, Hello]]:
    """Take a device and start its compilers, and give both back.

    Args:
        device: a resolved spec.
        store: where trials go.
        run_id: whose trials they are.
        limits: of a compilation and of a run.
        logs: a folder for what processes print.
        observe: told what happens.
        compile_workers: by default two fewer than there are cores.

    Raises:
        DeviceError: the device can't be had.
    """
    executor = open_executor(device, limits, log_dir=logs)
    pool: CompilePool | None = None
    try:
        if capabilities_of(device).compiles:
            workers = compile_workers or max(1, (os.cpu_count() or 2) - 2)
            pool = CompilePool(workers, limits, log_dir=logs)
            pool.prestart()
        hello = settled(executor.start(), executor, store)
        bench = Bench(
            store=store,
            run_id=run_id,
            units=(Unit(executor, hello.device.uuid),),
            observe=observe,
            pool=pool,
        )
        yield bench, hello
    finally:
        if pool is not None:
            pool.close()
        executor.close()


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Make SIGTERM end a study as Ctrl-C does; a no-op outside the main thread."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
