"""Compiles configs in processes without a GPU, side by side; the parent's half.

A compiler that aborts, hangs or eats memory takes its own process along and becomes one outcome. A
job whose process was killed by somebody else is compiled again, once.
"""

import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from autotune_lab.codec import from_plain, to_plain
from autotune_lab.errors import WorkerLost
from autotune_lab.processes import Child, Lost
from autotune_lab.records import COMPILE_LOSSES, CompileJob, Limits, Outcome

# No device is visible and nothing is interpreted, whatever the parent's environment says.
_VARIABLES = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "0"}
_DEFAULT_MEMORY_BYTES = 8 * 2**30


class CompilePool:
    """Up to ``workers`` processes, each with one job in flight; the rest waits in order.

    Args:
        workers: how many processes; each is started when there is a job for it.
        limits: ``compile_s`` is how long one config may take.
        log_dir: an existing folder that receives the processes' output.
        recycle_after: jobs after which a process is renewed.
        memory_bytes: what one process may allocate before it is ended.
        module: what the processes run.
    """

    def __init__(
        self,
        workers: int,
        limits: Limits,
        *,
        log_dir: Path,
        recycle_after: int = 300,
        memory_bytes: int = _DEFAULT_MEMORY_BYTES,
        module: str = "autotune_lab.compiling.child",
    ) -> None:
        self._limits = limits
        self._recycle_after = recycle_after
        # Triton leaves the files of a killed ptxas behind.
        self._scratch = tempfile.TemporaryDirectory(prefix="autotune-lab-compiling-")
        self._waiting: deque[tuple[str, CompileJob]] = deque()
        self._repeated: set[str] = set()
        self._workers = [
            _Worker(
                Child(
                    module,
                    name=f"compiling process {number}",
                    log_path=log_dir / f"compiling-{number}.log",
                    arguments=(str(memory_bytes),),
                    env={**_VARIABLES, "TMPDIR": self._scratch.name},
                )
            )
            for number in range(workers)
        ]

    @property
    def workers(self) -> int:
        """How many processes compile side by side."""
        return len(self._workers)

    @property
    def children(self) -> Sequence[Child]:
        """The processes to wait on."""
        return [worker.child for worker in self._workers]

    @property
    def pending(self) -> int:
        """Jobs whose outcome has not been collected."""
        return len(self._waiting) + sum(worker.child.busy for worker in self._workers)

    def prestart(self) -> None:
        """Start all processes at once; their imports take seconds, best spent beside others'."""
        for worker in self._workers:
            worker.child.prestart()

    def submit(self, key: str, job: CompileJob) -> None:
        """Add a job; its outcome comes back under ``key``."""
        self._waiting.append((key, job))
        self._dispatch()

    def collect(self) -> list[tuple[str, Outcome]]:
        """Return the outcomes that there are, without blocking, and start the jobs that wait.

        Raises:
            AutotuneLabError: the kernel's file can't be used.
            WorkerLost: a compiling process can't be started.
        """
        outcomes = []
        for worker in self._workers:
            if (answer := worker.child.poll()) is None:
                continue
            if isinstance(answer, Lost):
                worker.jobs = 0
                if answer.was_killed and worker.key not in self._repeated:
                    self._repeated.add(worker.key)
                    self._waiting.appendleft((worker.key, worker.job))
                    continue
                if answer.before_ready:
                    raise WorkerLost(f"{worker.child.name} {answer}; {answer.log_tail[-200:]}")
                outcome = Outcome.of_loss(answer, COMPILE_LOSSES)
            else:
                outcome = from_plain(Outcome, answer["outcome"])
            self._repeated.discard(worker.key)
            outcomes.append((worker.key, outcome))
            if worker.jobs >= self._recycle_after:
                worker.child.kill()
                worker.jobs = 0
        self._dispatch()
        return outcomes

    def close(self) -> None:
        """End all processes and remove their files; what was not collected is forgotten."""
        self._waiting.clear()
        for worker in self._workers:
            worker.child.kill()
        self._scratch.cleanup()

    def _dispatch(self) -> None:
        # A warm process first: it takes 0.1 ms to reach, a new one has seconds of imports ahead.
        for worker in sorted(self._workers, key=lambda worker: worker.child.pid is None):
            if self._waiting and not worker.child.busy:
                worker.key, worker.job = self._waiting.popleft()
                worker.jobs += 1
                worker.child.send(to_plain(worker.job), self._limits.compile_s)


class _Worker:
    """A process, the job in it with its key, and how many jobs it has had."""

    job: CompileJob

    def __init__(self, child: Child) -> None:
        self.child = child
        self.key = ""
        self.jobs = 0
