"""Runs one job and waits for its outcome; for work that has nothing else to do meanwhile."""

from autotune_lab import processes
from autotune_lab.execution.base import Executor
from autotune_lab.records import MeasureJob, Outcome

IDLE_S = 0.5


def run_job(executor: Executor, job: MeasureJob) -> Outcome:
    """Return what becomes of a job; only when the executor is not busy.

    Raises:
        AutotuneLabError: the device is gone, the kernel's file can't be used, or its reference
            contradicts itself.
    """
    executor.submit(job)
    while (outcome := executor.collect()) is None:
        processes.wait(executor.children, IDLE_S)
    return outcome
