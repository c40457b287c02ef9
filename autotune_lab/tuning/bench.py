"""What a phase works with: the store, devices of one model, compilers, and who watches.

A phase is a generator: it yields whenever nothing can be done until a job ends. So one thread
drives a phase alone, or several side by side, and waits for all of them at one place.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from autotune_lab import processes
from autotune_lab.execution.base import Unit
from autotune_lab.processes import Child
from autotune_lab.records import CompileJob, Outcome
from autotune_lab.store.store import Store
from autotune_lab.tuning.events import Observer

T = TypeVar("T")
Steps = Generator[None, None, T]

IDLE_S = 0.5
HEARTBEAT_S = 30.0


class Compilers(Protocol):
    """What compiles ahead of the devices; ``CompilePool`` is one."""

    @property
    def workers(self) -> int:
        """How many jobs run side by side."""

    @property
    def children(self) -> Sequence[Child]:
        """Processes of this machine to wait on."""

    def submit(self, key: str, job: CompileJob) -> None:
        """Add a job; its outcome comes back under ``key``."""

    def collect(self) -> list[tuple[str, Outcome]]:
        """Return the outcomes that there are, without blocking."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a phase works with.

    Attributes:
        units: devices of one model. On a cluster some may go and others come while a phase runs.
        pool: None for devices that nothing is compiled for.
    """

    store: Store
    run_id: int
    units: Sequence[Unit]
    observe: Observer
    pool: Compilers | None = None
    clock: Callable[[], float] = time.monotonic

    def wait(self) -> None:
        """Wait until a process of this machine has something to say, half a second at most."""
        children = [child for unit in self.units for child in unit.executor.children]
        if self.pool is not None:
            children += self.pool.children
        if children:
            processes.wait(children, IDLE_S)

    def finish(self, steps: Steps[T]) -> T:
        """Drive a phase to its end, alone."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            self.wait()
