"""Runs jobs on a device of another machine; the coordinator's half of a ``DeviceHost``."""

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError

from autotune_lab import errors
from autotune_lab.codec import from_plain, parse, to_json
from autotune_lab.definitions import Problem
from autotune_lab.processes import Child, error_of
from autotune_lab.records import (
    CompileJob,
    Hello,
    KernelIdentity,
    Limits,
    MeasureJob,
    Outcome,
    TrialState,
)

_ANSWER_S = 180.0
# A host that is there answers within the limit of a run, a renewed process and a look for its
# device; one that says nothing for longer hangs in its driver.
_SLACK_S = 300.0
_MOST_BINARIES = 4096

_log = logging.getLogger(__name__)


class Binaries:
    """References to compiled binaries in Ray's object store, by what was compiled; old ones go."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, ...], Any] = OrderedDict()

    def keep(self, job: CompileJob, reference: Any) -> None:
        """Hold the binaries of a job."""
        self._held[_key(job, job.model.id)] = reference
        if len(self._held) > _MOST_BINARIES:
            self._held.popitem(last=False)

    def find(self, job: MeasureJob, model_id: str) -> Any:
        """Return a reference to the binaries for a job; None if there are none."""
        return self._held.get(_key(job, model_id))

    def forget(self, job: MeasureJob, model_id: str) -> None:
        """Let go of binaries whose node is gone."""
        self._held.pop(_key(job, model_id), None)


class RemoteExecutor:
    """An ``Executor`` whose device is on a node; made when the node's host has said hello.

    A node, host or device that is lost costs its job ``INTERRUPTED``; after that ``is_lost`` says
    that the executor is of no more use, and ``fault`` why.
    """

    def __init__(
        self, actor: Any, hello: Hello, name: str, limits: Limits, binaries: Binaries
    ) -> None:
        self.name = name
        self.is_lost = False
        self.fault = ""
        self._actor = actor
        self._hello = hello
        self._limits = limits
        self._binaries = binaries
        self._job: MeasureJob | None = None
        self._reference: Any = None
        self._has_binaries = False
        self._deadline = 0.0

    @property
    def children(self) -> Sequence[Child]:
        """None on this machine."""
        return ()

    @property
    def waiting(self) -> list[Any]:
        """What Ray can wait on for an outcome."""
        return [] if self._reference is None else [self._reference]

    @property
    def busy(self) -> bool:
        """It takes no job now: one was submitted and not yet collected, or it is lost."""
        return self.is_lost or self._job is not None

    def start(self) -> Hello:
        """Return what the device said when its host took it."""
        return self._hello

    def ceilings(self) -> Hello:
        """Measure what the device reaches at best; only when not busy.

        Raises:
            DeviceLost: its node or its host is gone.
            WorkerLost: its process did not survive it.
        """
        return from_plain(Hello, self._ask(self._actor.ceilings.remote())["hello"])

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line what is doubtful about its answers for a kernel; ``""`` if nothing is.

        Raises:
            NoDevice: a recording has nothing of this kernel and problem.
        """
        asked = self._actor.caveat.remote(to_json(kernel), to_json(problem, sort_keys=False))
        try:
            return str(self._ask(asked)["caveat"])
        except errors.DeviceLost:
            return ""  # the next job tells

    def submit(self, job: MeasureJob) -> None:
        """Start a job; only when not busy."""
        self._job = job
        self._deadline = time.monotonic() + self._limits.run_s + _SLACK_S
        self._send(job)

    def collect(self) -> Outcome | None:
        """Return the outcome if there is one.

        Raises:
            AutotuneLabError: the kernel's file can't be used, or its reference contradicts itself.
        """
        job = self._job
        if job is None:
            return None
        ready, _ = ray.wait([self._reference], timeout=0)
        if not ready:
            late = time.monotonic() > self._deadline
            return self._lose(f"it said nothing for {_SLACK_S:.0f} s") if late else None
        try:
            outcome = unpacked(ray.get(self._reference))["outcome"]
        except RayActorError as error:
            return self._lose(told(error))
        except errors.DeviceError as error:
            return self._lose(str(error))
        except errors.AutotuneLabError:
            self._job = self._reference = None
            raise
        except RayError as error:
            if not self._has_binaries:
                return self._lose(told(error))
            # They were lost with the node that made them: the device's own process compiles.
            _log.info("%s: sent again without binaries: %s", self.name, told(error))
            self._binaries.forget(job, self._hello.device.model.id)
            self._send(job)
            return None
        self._job = self._reference = None
        return from_plain(Outcome, outcome)

    def renew(self) -> None:
        """Let the next job find a process that has run nothing else."""
        self._actor.renew.remote()

    def close(self) -> None:
        """End the host and its processes; the node has its device back."""
        ray.kill(self._actor)

    def _send(self, job: MeasureJob) -> None:
        files = self._binaries.find(job, self._hello.device.model.id)
        self._has_binaries = files is not None
        self._reference = self._actor.measure.remote(to_json(job, sort_keys=False), files)

    def _lose(self, fault: str) -> Outcome:
        self.is_lost, self.fault = True, fault
        self._job = self._reference = None
        return Outcome(TrialState.INTERRUPTED, reason=f"{self.name} was lost: {fault}")

    def _ask(self, reference: Any) -> dict[str, Any]:
        try:
            return unpacked(ray.get(reference, timeout=_ANSWER_S))
        except (RayError, GetTimeoutError) as error:
            raise errors.DeviceLost(f"{self.name} was lost: {told(error)}") from error


def told(error: Exception) -> str:
    """Return the line of Ray's many that says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "because" in line or "Error:" in line or "died" in line]
    return (telling or lines or [type(error).__name__])[-1][:300]


def unpacked(text: str) -> dict[str, Any]:
    """Return what a host answered.

    Raises:
        AutotuneLabError: of the class that it met on its node.
    """
    answer: dict[str, Any] = parse(text, "answer")
    if "error" in answer:
        raise error_of(*answer["error"])
    return answer


def _key(job: MeasureJob | CompileJob, model_id: str) -> tuple[str, ...]:
    return job.kernel, job.problem.id, job.config.id, model_id
