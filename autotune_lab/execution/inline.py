"""Runs jobs in this process: for devices that can't be harmed, for tests and for ``pdb``."""

from collections.abc import Sequence

from autotune_lab.definitions import Problem
from autotune_lab.devices.opening import open_device
from autotune_lab.execution.session import Session
from autotune_lab.processes import Child
from autotune_lab.records import Hello, KernelIdentity, Limits, MeasureJob, Outcome


class InlineExecutor:
    """An ``Executor`` without a process of its own; it can't enforce ``limits``."""

    def __init__(self, device_spec: str, limits: Limits) -> None:
        self.limits = limits
        self._device_spec = device_spec
        self._session: Session | None = None
        self._job: MeasureJob | None = None

    @property
    def children(self) -> Sequence[Child]:
        """None: there is nothing to wait on."""
        return ()

    @property
    def busy(self) -> bool:
        """A job was submitted and its outcome not yet collected."""
        return self._job is not None

    def start(self) -> Hello:
        """Open the device.

        Raises:
            NoDevice: it is not there.
        """
        self._session = Session(open_device(self._device_spec))
        return self._session.hello()

    def ceilings(self) -> Hello:
        """Say what bounds the device's times.

        Raises:
            RuntimeError: the executor was not started.
        """
        if self._session is None:
            raise RuntimeError("the executor is not started")
        return self._session.ceilings()

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line what is doubtful about the device's answers; ``""`` if nothing is.

        Raises:
            NoDevice: a recording has nothing of this kernel and problem.
        """
        return "" if self._session is None else self._session.caveat(kernel, problem)

    def submit(self, job: MeasureJob) -> None:
        """Keep a job for ``collect``.

        Raises:
            RuntimeError: the previous job was not collected, or the executor was not started.
        """
        if self._session is None or self.busy:
            raise RuntimeError("the executor is busy" if self.busy else "it is not started")
        self._job = job

    def collect(self) -> Outcome | None:
        """Run the job that was submitted, and return its outcome."""
        if self._job is None or self._session is None:
            return None
        job, self._job = self._job, None
        return self._session.measure(job)

    def renew(self) -> None:
        """Open the device anew."""
        self._session = Session(open_device(self._device_spec))

    def close(self) -> None:
        """Forget the device."""
        self._session = None
        self._job = None
