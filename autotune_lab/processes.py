"""Supervised child processes: one JSON message to a child, one reply or a ``Lost`` back.

A child may crash, hang, print or start processes of its own; it costs its caller one ``Lost``. It
is started lazily, replaced after a loss, and dies with its parent. Knows no device and no trial.
"""

import ctypes
import json
import mmap
import os
import queue
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from autotune_lab import errors

Message = dict[str, Any]
Handler = Callable[[Message, Callable[[int], None]], Message]

_HEADER = struct.Struct("<I")
_MAX_FRAME_BYTES = 64 * 2**20
_LOG_LIMIT_BYTES = 2**20
_TAIL_BYTES = 2**14
_TAIL_LINES = 40
_END_S = 120.0  # a driver may finish a kernel before it lets its process go


@dataclass(frozen=True, slots=True)
class Lost:
    """A message that will get no reply, because its child is gone.

    Attributes:
        kind: ``"timeout"`` (it was killed at its deadline), ``"signal"`` or ``"exit"`` (it died of
            itself), ``"protocol"`` (it answered with something that is no frame, and was killed).
        code: the signal's number or the exit code; None where there is neither.
        log_tail: the last lines that it wrote to stdout and stderr during this message.
        progress: the last count that it reported, 0 if none.
        before_ready: it never finished starting, so the message is not to blame.
    """

    kind: Literal["timeout", "signal", "exit", "protocol"]
    code: int | None
    log_tail: str
    elapsed_ms: float
    progress: int = 0
    before_ready: bool = False

    def __str__(self) -> str:
        match self.kind:
            case "timeout":
                return f"killed after {self.elapsed_ms / 1e3:.1f} s"
            case "signal":
                return f"died of signal {_signal_name(self.code or 0)}"
            case "exit":
                return f"ended with exit code {self.code}"
            case "protocol":
                return "broke the protocol with its parent"


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
        self._process: _Process | None = None
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

    def send(self, message: Message, timeout_s: float) -> None:
        """Start a message; its time runs from when the child is ready to take it.

        Raises:
            RuntimeError: the previous message was not collected.
        """
        if self._job is not None:
            raise RuntimeError(f"{self.name} is busy")
        if self._process is not None and self._process.has_ended():
            self.kill()
        if self._process is None:
            self._process = _Process(self._command, self._env, self._log_path)
            self.starts += 1
        process = self._process
        now = time.monotonic()
        limit_s = timeout_s if process.is_ready else self._start_s
        self._job = _Job(timeout_s, now, now + limit_s, process.mark_log())
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
        except _NoFrameError:
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
            raise _error(*frame["error"])
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
            log_tail=_tail(self._log_path, job.log_start),
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


def serve(open_handler: Callable[[Sequence[str]], Handler]) -> None:
    """Answer the parent's messages until it goes away. Runs in a child, as its whole life.

    Args:
        open_handler: called with the child's arguments once the process is tied to its parent;
            makes the slow imports and returns ``handler(message, progress) -> reply``. Errors of
            the lab, from it or from the handler, are raised in the parent; any other ends the
            process.
    """
    requests, replies, counter, parent, bind = (int(text) for text in sys.argv[1:6])
    for descriptor in (requests, replies, counter):
        os.set_inheritable(descriptor, False)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_watch, args=(requests, inbox), daemon=True).start()
    if bind:
        _die_with(parent)
    shared = memoryview(mmap.mmap(counter, 8)).cast("Q")

    def report(count: int) -> None:
        shared[0] = count

    try:
        handler = open_handler(sys.argv[6:])
    except errors.AutotuneLabError as error:
        handler = _raising(error)
    _write_frame(replies, {"ready": True})
    while True:
        message = inbox.get()
        started = time.perf_counter()
        try:
            answer: Message = {"reply": handler(message, report)}
        except errors.AutotuneLabError as error:
            answer = {"error": [type(error).__name__, str(error)]}
        elapsed_ms = (time.perf_counter() - started) * 1e3
        _write_frame(replies, {**answer, "elapsed_ms": elapsed_ms})


def _raising(error: errors.AutotuneLabError) -> Handler:
    def refuse(_message: Message, _progress: Callable[[int], None]) -> Message:
        raise error

    return refuse


def _error(name: str, text: str) -> Exception:
    """Rebuild an error of the lab from its class and its text."""
    kind: type[Exception] = getattr(errors, name)
    # A class with arguments of its own has them in its text already: use its plain parent.
    while "__init__" in vars(kind):
        kind = kind.__mro__[1]
    return kind(text)


class _NoFrameError(Exception):
    """The bytes that arrived are no frame."""


@dataclass(slots=True)
class _Job:
    timeout_s: float
    started: float
    deadline: float
    log_start: int


class _Process:
    """A running child: its process group, its two pipes and its progress counter."""

    def __init__(
        self, command: tuple[str, tuple[str, ...]], env: Mapping[str, str], log_path: Path
    ) -> None:
        module, extra = command
        child_requests, self._requests = os.pipe()
        self.replies, child_replies = os.pipe()
        os.set_blocking(self.replies, False)
        self._log_path = log_path
        self._buffer = bytearray()
        self.is_ready = False
        self.at_end = False
        is_main = threading.current_thread() is threading.main_thread()
        with tempfile.TemporaryFile() as counter, log_path.open("ab") as log:
            counter.truncate(8)
            self._counter = mmap.mmap(counter.fileno(), 8)
            inherited = (child_requests, child_replies, counter.fileno())
            options = ("-u", "-X", "faulthandler")
            arguments = [*inherited, os.getpid(), int(is_main)]
            self._popen = subprocess.Popen(
                [sys.executable, *options, "-m", module, *map(str, arguments), *extra],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **env},
                pass_fds=inherited,
                start_new_session=True,
            )
        os.close(child_requests)
        os.close(child_replies)
        self.pidfd = os.pidfd_open(self._popen.pid) if hasattr(os, "pidfd_open") else -1

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    @property
    def progress(self) -> int:
        return int.from_bytes(self._counter[:8], sys.byteorder)

    @progress.setter
    def progress(self, count: int) -> None:
        self._counter[:8] = count.to_bytes(8, sys.byteorder)

    def write(self, message: Message) -> None:
        try:
            _write_frame(self._requests, message)
        except BrokenPipeError:
            self.at_end = True

    def read(self) -> Iterator[Message]:
        """Yield the frames that have arrived in full.

        Raises:
            _NoFrameError: the bytes are none.
        """
        while not self.at_end:
            try:
                chunk = os.read(self.replies, 2**16)
            except BlockingIOError:
                break
            self.at_end = not chunk
            self._buffer += chunk
        while (frame := _take_frame(self._buffer)) is not None:
            yield frame

    def mark_log(self) -> int:
        """Return where the log ends now; a log grown too long is emptied first."""
        length = self._log_path.stat().st_size
        if length > _LOG_LIMIT_BYTES:
            os.truncate(self._log_path, 0)
            return 0
        return length

    def has_ended(self) -> bool:
        # WNOWAIT leaves it a zombie: its process group keeps its id until kill() has used it.
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def wait_end(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not (ended := self.has_ended()) and time.monotonic() < deadline:
            time.sleep(0.005)
        return ended

    def kill(self, name: str) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        try:
            self._popen.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise errors.WorkerLost(
                f"{name} (pid {self.pid}) still runs {_END_S:.0f} s after it was killed; "
                "the driver holds it; free the device or restart the machine"
            ) from error
        for descriptor in (self._requests, self.replies, self.pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        self._counter.close()


def _take_frame(buffer: bytearray) -> Message | None:
    if len(buffer) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack_from(buffer)
    if length > _MAX_FRAME_BYTES:
        raise _NoFrameError(f"{length} bytes")
    end = _HEADER.size + length
    if len(buffer) < end:
        return None
    try:
        frame: Message = json.loads(bytes(buffer[_HEADER.size : end]))
    except ValueError as error:
        raise _NoFrameError(str(error)) from error
    del buffer[:end]
    return frame


def _write_frame(descriptor: int, message: Message) -> None:
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    data = memoryview(_HEADER.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data) :]


def _watch(requests: int, inbox: "queue.SimpleQueue[Message]") -> None:
    """Feed messages to the main thread, and end the process group when the parent is gone."""
    buffer = bytearray()
    while chunk := os.read(requests, 2**16):
        buffer += chunk
        while (frame := _take_frame(buffer)) is not None:
            inbox.put(frame)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, even inside foreign code.

    The watching thread takes the whole process group along, but needs the interpreter lock. So the
    death signal is SIGHUP, which is number 1, and its handler is libc's ``alarm``: the call is
    ``alarm(1)``, and SIGALRM ends a process whose thread did not get to run within that second.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    pr_set_pdeathsig = 1
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(int(signal.SIGHUP), ctypes.cast(libc.alarm, ctypes.c_void_p))
    libc.prctl(pr_set_pdeathsig, int(signal.SIGHUP), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _tail(log_path: Path, start: int) -> str:
    with log_path.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        log.seek(max(min(start, end), end - _TAIL_BYTES))
        text = log.read().decode(errors="replace")
    # faulthandler ends with the names of all extension modules, kilobytes of them.
    lines = [line for line in text.splitlines() if not line.startswith("Extension modules:")]
    return "\n".join(lines[-_TAIL_LINES:]).strip()


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
