"""One running process under supervision: its group, its pipes, its log, its progress counter."""

import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from autotune_lab import errors
from autotune_lab.processes.frames import Message, take_frame, write_frame

_LOG_LIMIT_BYTES = 2**20
_TAIL_BYTES = 2**14
_TAIL_LINES = 40
_END_S = 120.0  # a driver may finish a kernel before it lets its process go


class Process:
    """A running child, from its start to its end.

    Attributes:
        replies: the descriptor that its frames arrive on.
        pidfd: a descriptor that becomes readable when it ends; -1 where there are none.
        is_ready: it has said that it is ready for messages.
        at_end: nothing more will be read from it.
    """

    def __init__(
        self, command: tuple[str, tuple[str, ...]], env: Mapping[str, str], log_path: Path
    ) -> None:
        module, extra = command
        child_requests, self._requests = os.pipe()
        self.replies, child_replies = os.pipe()
        os.set_blocking(self.replies, False)
        self._log_path = log_path
        self._log_start = 0
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
        """Its process id, which is also that of its process group."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal; None until it was killed or reaped."""
        return self._popen.returncode

    @property
    def progress(self) -> int:
        """The count in the memory that both halves share: reporting it blocks and wakes nobody."""
        return int.from_bytes(self._counter[:8], sys.byteorder)

    @progress.setter
    def progress(self, count: int) -> None:
        self._counter[:8] = count.to_bytes(8, sys.byteorder)

    def write(self, message: Message) -> None:
        """Send a message; that nobody reads it any more is noticed by reading."""
        try:
            write_frame(self._requests, message)
        except BrokenPipeError:
            self.at_end = True

    def read(self) -> Iterator[Message]:
        """Yield the frames that have arrived in full.

        Raises:
            NoFrameError: the bytes are none.
        """
        while not self.at_end:
            try:
                chunk = os.read(self.replies, 2**16)
            except BlockingIOError:
                break
            self.at_end = not chunk
            self._buffer += chunk
        while (frame := take_frame(self._buffer)) is not None:
            yield frame

    def mark_log(self) -> None:
        """Let ``log_tail`` begin here; a log grown too long is emptied."""
        if self._log_path.stat().st_size > _LOG_LIMIT_BYTES:
            os.truncate(self._log_path, 0)
        self._log_start = self._log_path.stat().st_size

    def log_tail(self) -> str:
        """Return the last lines written since the mark."""
        with self._log_path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(min(self._log_start, end), end - _TAIL_BYTES))
            text = log.read().decode(errors="replace")
        # faulthandler ends with the names of all extension modules, kilobytes of them.
        lines = [line for line in text.splitlines() if not line.startswith("Extension modules:")]
        return "\n".join(lines[-_TAIL_LINES:]).strip()

    def has_ended(self) -> bool:
        """It has ended, of itself or killed."""
        # WNOWAIT leaves it a zombie: its process group keeps its id until kill() has used it.
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def wait_end(self, timeout_s: float) -> bool:
        """Wait for its end, and return whether it came."""
        deadline = time.monotonic() + timeout_s
        while not (ended := self.has_ended()) and time.monotonic() < deadline:
            time.sleep(0.005)
        return ended

    def kill(self, name: str) -> None:
        """End it with all that it started, and free what was held for it.

        Raises:
            WorkerLost: it does not end, even when killed.
        """
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
