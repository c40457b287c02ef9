"""One tuner per device: an advisory lock on a file named after the device's UUID.

The kernel frees the lock when its holder ends, however it ends. Partitions of a card share its
lock.
"""

import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from autotune_lab.errors import DeviceBusy

_RETRY_S = 0.2


def lock_folder() -> Path:
    """Return the user's folder for locks; studies of other users are not held off by it."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.access(base, os.W_OK):
        return Path(base) / "autotune-lab"
    return Path(tempfile.gettempdir()) / f"autotune-lab-{os.getuid()}"


class DeviceLock:
    """The right to use one device, for as long as this process lives or until released."""

    def __init__(self, uuid: str, *, folder: Path | None = None) -> None:
        self._uuid = uuid
        name = re.sub(r"[^A-Za-z0-9-]+", "-", uuid)
        self._path = (folder or lock_folder()) / f"{name}.lock"
        self._descriptor: int | None = None

    def acquire(self, *, wait_s: float = 0.0, notify: Callable[[str], None]) -> None:
        """Take the lock, waiting for its holder if asked to.

        Args:
            wait_s: how long to wait.
            notify: told once, in a line, who is waited for.

        Raises:
            DeviceBusy: another process holds it still; the message has its pid.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        deadline = time.monotonic() + wait_s
        told = False
        while not _try_lock(descriptor):
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise DeviceBusy(
                    f"device {self._uuid} is in use by another study (pid {holder}); "
                    "wait for it, or stop it"
                )
            if not told:
                notify(f"waiting {wait_s:.0f} s for device {self._uuid}, held by pid {holder}")
                told = True
            time.sleep(_RETRY_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the device back; the file stays, so that nobody can lock a deleted one."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
