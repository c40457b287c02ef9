"""The parent's half of a child process: send, poll, wait, kill."""

import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autotune_lab import errors
from autotune_lab.processes.frames import Message, NoFrameError
from autotune_lab.processes.lost import Lost
from autotune_lab.processes.process import Process


@dataclass(slots=True)
class _Job:
    timeout_s: float
    started: float
    deadline: float


class Child:
    """One child process that runs ``python -m module`` and answers one message at a time.

    Thread safety: none; a child belongs to one thread. Start it from the main thread where
    possible: only then is its life tied to the parent's by the kernel, which would otherwise end it
    together with the thread.

    Args:
        module: a module whose ``__main__`` calls ``serve``.
        arguments: handed to the ``open_handler`` of ``serve``.
        env: variables set over the parent's own before the child starts.
        name: what errors call it.
        log_path: receives its stdout and stderr.
        start_s: how long it may take until it is ready for its first message.
    """

    def __init__(
        self,
        module: str,
        *,
        name: str,
        log_path: Path,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        start_s: float = 120.0,
    ) -> None:
        self.name = name
        self.starts = 0
        self._command = (module, tuple(arguments))
        self._env = dict(env or {})
        self._log_path = log_path
        self._start_s = start_s
        self._process: Process | None = None
        self._job: _Job | None = None

    @property
    def busy(self) -> bool:
        """A message was sent and neither its reply nor its loss has been collected."""
        return self._job is not None

    @property
    def pid(self) -> int | None:
        """Process id while there is a process."""
        return self._process.pid if self._process else None

    @property
    def last_progress(self) -> int:
        """The last count that the child reported during the message in flight."""
        return self._process.progress if self._process else 0

    @property
    def deadline(self) -> float | None:
        """When (``time.monotonic``) the message in flight is given up; None when idle."""
        return self._job.deadline if self._job else None

    def fileno(self) -> int:
        """Return the descriptor to select on for a reply; -1 without a process."""
        return self._process.replies if self._process else -1

    def exit_fileno(self) -> int:
        """Return a descriptor that becomes readable when the process ends; -1 without a process."""
        return self._process.pidfd if self._process else -1

    def prestart(self) -> None:
        """Start the process now, so that its imports are done by the time of its first message."""
        if self._process is None:
            self._process = Process(self._command, self._env, self._log_path)
            self.starts += 1

    def send(self, message: Message, timeout_s: float) -> None:
        """Start a message; its time runs from when the child is ready to take it.

        Raises:
            RuntimeError: the previous message was not collected.
        """
        if self._job is not None:
            raise RuntimeError(f"{self.name} is busy")
        if self._process is not None and self._process.has_ended():
            self.kill()
        self.prestart()
        process = self._process
        assert process is not None
        now = time.monotonic()
        limit_s = timeout_s if process.is_ready else self._start_s
        self._job = _Job(timeout_s, now, now + limit_s)
        process.mark_log()
        process.progress = 0
        process.write(message)

    def poll(self) -> Message | Lost | None:
        """Return the reply or the loss of the message in flight; None while there is neither.

        Raises:
            AutotuneLabError: of the class that the child's handler raised.
        """
        job, process = self._job, self._process
        if job is None or process is None:
            return None
        try:
            for frame in process.read():
                if "ready" not in frame:
                    return self._answer(frame, float(frame["elapsed_ms"]) > job.timeout_s * 1e3)
                process.is_ready = True
                job.started = time.monotonic()
                job.deadline = job.started + job.timeout_s
        except NoFrameError:
            return self._lose("protocol")
        if process.at_end or process.has_ended():
            return self._lose("exit" if process.wait_end(1.0) else "protocol")
        if time.monotonic() >= job.deadline:
            return self._lose("timeout")
        return None

    def call(self, message: Message, timeout_s: float) -> Message | Lost:
        """Send a message and wait for its reply or loss.

        Raises:
            AutotuneLabError: of the class that the child's handler raised.
        """
        self.send(message, timeout_s)
        while (answer := self.poll()) is None:
            wait([self], timeout_s + self._start_s)
        return answer

    def kill(self) -> None:
        """End the process and all that it started; a message in flight is forgotten.

        Raises:
            WorkerLost: it does not end, even when killed.
        """
        process, self._process, self._job = self._process, None, None
        if process is not None:
            process.kill(self.name)

    def _answer(self, frame: Message, is_late: bool) -> Message | Lost:
        if is_late:
            return self._lose("timeout")
        self._job = None
        if "error" in frame:
            raise error_of(*frame["error"])
        reply: Message = frame["reply"]
        return reply

    def _lose(self, kind: Literal["timeout", "exit", "protocol"]) -> Lost:
        job, process = self._job, self._process
        assert job is not None
        assert process is not None
        elapsed_ms = (time.monotonic() - job.started) * 1e3
        progress = process.progress
        self.kill()
        code = process.returncode if kind == "exit" else None
        return Lost(
            kind="signal" if code is not None and code < 0 else kind,
            code=abs(code) if code is not None else None,
            log_tail=process.log_tail(),
            elapsed_ms=elapsed_ms,
            progress=progress,
            before_ready=not process.is_ready,
        )


def wait(children: Sequence[Child], timeout_s: float) -> list[Child]:
    """Wait until a busy child has something to poll: a reply, its end, or its deadline.

    Returns:
        The children to poll, in the order given; none after ``timeout_s``, or if none is busy.
    """
    busy = [child for child in children if child.busy]
    if not busy:
        return []
    poller = select.poll()
    owners: dict[int, Child] = {}
    for child in busy:
        for descriptor in (child.fileno(), child.exit_fileno()):
            if descriptor >= 0:
                owners[descriptor] = child
                poller.register(descriptor, select.POLLIN)
    now = time.monotonic()
    until = min([now + timeout_s, *(child.deadline or now for child in busy)])
    ready = poller.poll(max(0.0, until - now) * 1e3)
    named = {owners[descriptor].fileno() for descriptor, _ in ready}
    now = time.monotonic()
    return [c for c in busy if c.fileno() in named or (c.deadline or now) <= now]


def error_of(name: str, text: str) -> Exception:
    """Rebuild an error of the lab from its class and its text, as another process told them."""
    kind: type[Exception] = getattr(errors, name)
    # A class with arguments of its own has them in its text already: use its plain parent.
    while "__init__" in vars(kind):
        kind = kind.__mro__[1]
    return kind(text)
