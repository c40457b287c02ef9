"""The contract of an executor: jobs in, outcomes out, whatever a job does to its process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from autotune_lab.definitions import Problem
from autotune_lab.processes import Child
from autotune_lab.records import Hello, KernelIdentity, MeasureJob, Outcome


class Executor(Protocol):
    """Owns one device and runs one job at a time.

    A job that kills its process, hangs or poisons the device context costs its own outcome
    (``crashed``, ``timeout``) and nothing else: the next job finds a fresh process.
    """

    def start(self) -> Hello:
        """Take the device and say what it is.

        Raises:
            NoDevice: it is not there.
            DeviceBusy: another study holds it.
            WorkerLost: its process can't be started.
        """

    def ceilings(self) -> Hello:
        """Measure what the started device reaches at best, which takes seconds; only when not busy.

        A recorded device answers with what was recorded, and one that is no GPU knows of none.

        Raises:
            WorkerLost: its process did not survive it.
        """

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line what is doubtful about its answers for a kernel; ``""`` if nothing is.

        Raises:
            NoDevice: it has no answers for this kernel and problem.
        """

    @property
    def children(self) -> Sequence[Child]:
        """Processes to wait on for an outcome; empty when jobs run inline."""

    @property
    def busy(self) -> bool:
        """A job was submitted and its outcome not yet collected."""

    def submit(self, job: MeasureJob) -> None:
        """Start a job; only when not busy."""

    def collect(self) -> Outcome | None:
        """Return the outcome if there is one; never blocks beyond an inline job.

        ``INTERRUPTED`` when the device is lost and another may take the job; where there is no
        other, ``DeviceLost`` is raised.
        """

    def renew(self) -> None:
        """Let the next job find a process that has run nothing else; only when not busy."""

    def close(self) -> None:
        """Give the device back; nothing is left running."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One started device: the executor that owns it, and which card it is."""

    executor: Executor
    uuid: str
