"""Chooses how a device's jobs are run, by what the device says of itself."""

from collections.abc import Callable
from pathlib import Path

from autotune_lab.devices.opening import capabilities_of
from autotune_lab.execution.base import Executor
from autotune_lab.execution.inline import InlineExecutor
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.records import Limits


def open_executor(
    device_spec: str,
    limits: Limits,
    *,
    log_dir: Path,
    recycle_after: int = 300,
    wait_s: float = 0.0,
    notify: Callable[[str], None] | None = None,
) -> Executor:
    """Return an executor that is not started yet: in a process if the device needs isolation.

    Raises:
        UsageError: there is no such device plug-in.
    """
    if not capabilities_of(device_spec).isolated:
        return InlineExecutor(device_spec, limits)
    return ProcessExecutor(
        device_spec,
        limits,
        log_dir=log_dir,
        recycle_after=recycle_after,
        wait_s=wait_s,
        notify=notify,
    )
