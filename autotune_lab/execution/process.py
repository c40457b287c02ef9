"""Runs jobs in one supervised process that owns the device; the parent's half.

What a job does to that process is the job's outcome: it is killed at its limit, replaced after a
crash or a poisoned context, and renewed every few hundred jobs so that loaded modules don't pile
up. A config is not blamed for what it did not do: before a crash becomes its outcome, a fresh
process must find the device still there; and if somebody killed the process, the job runs again.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from autotune_lab import errors
from autotune_lab.codec import from_plain, to_plain
from autotune_lab.definitions import Problem
from autotune_lab.execution.lock import DeviceLock
from autotune_lab.execution.visible import Assignment, assign, same_uuid
from autotune_lab.processes import Child, Lost
from autotune_lab.records import (
    RUN_LOSSES,
    Hello,
    KernelIdentity,
    Limits,
    MeasureJob,
    Outcome,
    Source,
)

_HELLO_S = 120.0


class ProcessExecutor:
    """An ``Executor`` whose device lives in a child process.

    Args:
        device_spec: ``name[:argument][@part]``.
        limits: ``run_s`` is how long one job may take, verification included.
        log_dir: an existing folder that receives the child's output.
        recycle_after: jobs after which the process is renewed.
        wait_s: how long to wait for a device that another study holds.
        notify: told in a line what is waited for; a log message by default.
    """

    def __init__(
        self,
        device_spec: str,
        limits: Limits,
        *,
        log_dir: Path,
        recycle_after: int = 300,
        wait_s: float = 0.0,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._limits = limits
        self._recycle_after = recycle_after
        self._wait_s = wait_s
        self._notify = notify or logging.getLogger(__name__).info
        self._jobs = 0
        self._job: MeasureJob | None = None
        self._is_repeat = False
        self._suspect: Outcome | None = None
        self._answered = 0  # how many processes were started by the time of the last answer
        self._lock: DeviceLock | None = None
        self._assignment: Assignment = assign(device_spec)
        self._child = Child(
            "autotune_lab.execution.child",
            name=f"the process that owns {device_spec}",
            log_path=log_dir / "measuring.log",
            arguments=(self._assignment.spec,),
            env=self._assignment.variables,
        )

    @property
    def children(self) -> Sequence[Child]:
        """The process that owns the device."""
        return (self._child,)

    @property
    def busy(self) -> bool:
        """A job was submitted and its outcome not yet collected."""
        return self._child.busy

    @property
    def starts(self) -> int:
        """How many processes were started; one more after each loss."""
        return self._child.starts

    def start(self) -> Hello:
        """Take the device's lock, start its process and return what it says of itself.

        Raises:
            NoDevice: it is not there.
            DeviceBusy: another study holds it.
            DeviceError: the process sees another device than the one asked for.
            DeviceLost: it was there before.
            WorkerLost: the process can't be started.
        """
        asked = self._assignment.uuid
        if asked:
            self._take(asked)
        try:
            hello = self._hello()
            if asked:
                _check_uuid(asked, hello.device.uuid)
            elif hello.device.source in (Source.GPU, Source.FAKE):
                self._take(hello.device.uuid)
        except BaseException:
            self.close()
            raise
        return hello

    def ceilings(self) -> Hello:
        """Measure what the device reaches at best; only when not busy.

        Raises:
            WorkerLost: the process did not survive it.
        """
        answer = self._child.call({"ceilings": True}, _HELLO_S)
        if isinstance(answer, Lost):
            raise errors.WorkerLost(
                f"{self._child.name} was lost while it measured ceilings: it {answer}"
            )
        return from_plain(Hello, answer["hello"])

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Return ``""``: what is measured is what the context says."""
        del kernel, problem
        return ""

    def submit(self, job: MeasureJob) -> None:
        """Start a job; only when not busy."""
        self._job, self._is_repeat = job, False
        self._send(job)

    def collect(self) -> Outcome | None:
        """Return the outcome if there is one.

        Raises:
            DeviceLost: the device, or every process on it, is gone; the job had no part in that.
            AutotuneLabError: the kernel's file can't be used, or its reference contradicts itself.
        """
        try:
            answer = self._child.poll()
        except errors.NoDevice as error:
            if self._answered == self._child.starts:
                raise
            raise self._gone(str(error)) from error
        if answer is None:
            return None
        suspect, self._suspect = self._suspect, None
        if isinstance(answer, Lost):
            self._after(answer, suspect)
            return None
        self._answered = self._child.starts
        if suspect is not None:
            return suspect
        outcome = from_plain(Outcome, answer["outcome"])
        if outcome.retire:
            self._child.kill()
            self._look_for_device(outcome)
            return None
        if self._jobs >= self._recycle_after:
            self._child.kill()
            self._jobs = 0
        return outcome

    def renew(self) -> None:
        """End the process; the next job starts another one."""
        self._child.kill()
        self._jobs = 0

    def close(self) -> None:
        """End the process and give the device back."""
        self._child.kill()
        self._suspect = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _take(self, uuid: str) -> None:
        self._lock = DeviceLock(uuid)
        self._lock.acquire(wait_s=self._wait_s, notify=self._notify)

    def _send(self, job: MeasureJob) -> None:
        self._child.send({"measure": to_plain(job)}, self._limits.run_s)
        self._jobs += 1

    def _after(self, lost: Lost, suspect: Outcome | None) -> None:
        """Go on after the loss of a process: with the same job, or with a look for the device."""
        self._jobs = 0
        may_repeat = lost.was_killed and not self._is_repeat
        self._is_repeat |= lost.was_killed
        if suspect is not None and may_repeat:
            self._look_for_device(suspect)
        elif self._job is not None and may_repeat:
            self._send(self._job)
        elif lost.before_ready or suspect is not None:
            raise self._gone(f"its process {lost}; {_last_line(lost)}")
        else:
            self._look_for_device(Outcome.of_loss(lost, RUN_LOSSES))

    def _look_for_device(self, suspect: Outcome) -> None:
        """Ask a fresh process whether the device is there; then the outcome stands."""
        self._jobs = 0
        self._suspect = suspect
        self._child.send({"present": True}, _HELLO_S)

    def _gone(self, fault: str) -> errors.DeviceLost:
        return errors.DeviceLost(
            f"the device is lost ({fault}); what was stored is safe, and "
            "the same command goes on once the device is back"
        )

    def _hello(self) -> Hello:
        try:
            answer = self._child.call({"hello": True}, _HELLO_S)
            if isinstance(answer, Lost) and answer.was_killed:
                answer = self._child.call({"hello": True}, _HELLO_S)
        except errors.NoDevice as error:
            if not self._answered:
                raise
            raise self._gone(str(error)) from error
        if isinstance(answer, Lost):
            raise errors.WorkerLost(
                f"{self._child.name} can't be started: it {answer}; {_last_line(answer)}"
            )
        self._answered = self._child.starts
        return from_plain(Hello, answer["hello"])


def _check_uuid(asked: str, found: str) -> None:
    if not same_uuid(asked, found):
        raise errors.DeviceError(
            f"asked for device {asked}, its process sees {found}; check CUDA_VISIBLE_DEVICES"
        )


def _last_line(lost: Lost) -> str:
    return (lost.log_tail.splitlines() or ["it wrote nothing"])[-1]
