"""Where a store is: turns what a user wrote into a URL, a path and a text without credentials.

Also says what is wrong with a file before any database code touches it.
"""

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from autotune_lab.errors import StoreDamaged, StoreError

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_LOOKS = 3
_PAUSE_S = 0.05

# Locks and shared memory do not hold across hosts on these, so WAL would corrupt the file
# (sqlite.org/wal.html, "All processes using a database must be on the same host computer").
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "9p", "afs", "afpfs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "gfs2",
        "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb2", "smb3", "smbfs",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Location:
    """One store: its URL, its file (None for a server or memory), and how messages call it."""

    url: URL
    path: Path | None
    display: str

    @property
    def is_sqlite(self) -> bool:
        """It is an SQLite file or an SQLite database in memory."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_memory(self) -> bool:
        """It vanishes with the process."""
        return self.is_sqlite and self.path is None


def locate(text: str) -> Location:
    """Read a SQLAlchemy URL, or the path of an SQLite file.

    Raises:
        StoreError: it is neither. The text itself is not repeated, since it may hold a password.
    """
    if "://" not in text:
        text = f"sqlite:///{text}"
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise StoreError(
            "the store's URL can't be parsed; write sqlite:///lab.db "
            "or postgresql+psycopg://user@host/database"
        ) from None
    if backend == "sqlite":
        if url.database in (None, "", ":memory:"):
            return Location(url, None, "sqlite in memory")
        path = Path(str(url.database)).expanduser()
        return Location(url.set(database=str(path)), path, str(path))
    host = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}"
    return Location(url, None, f"{backend}://{host}/{url.database or ''}")


def check_file(path: Path) -> None:
    """Refuse a file that can't be an intact SQLite database, by its header and its length alone.

    Raises:
        StoreDamaged: it is cut short, or something else than SQLite wrote it.
        StoreError: it can't be read.
    """
    fault = ""
    for _ in range(_LOOKS):
        try:
            if not path.exists() or path.stat().st_size == 0:
                return
            if not path.is_file():
                raise StoreError(f"{path}: is not a file; name an SQLite file with --store")
            fault = _fault(path)
        except OSError as error:
            raise StoreError(f"{path}: can't be read: {error.strerror}") from error
        if not fault:
            return
        # Another process that folds its log into the file writes the new length first and the new
        # pages after it: only what stays cut short is cut short.
        time.sleep(_PAUSE_S)
    raise StoreDamaged(f"{path}: {fault}")


def _fault(path: Path) -> str:
    """Say what is wrong with a file that is not empty; ``""`` if nothing is."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    size = path.stat().st_size
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        return "is not an SQLite database; it was left as it is, name another with --store"
    expected = _expected_bytes(header)
    if size < expected:
        return (
            f"is cut short ({size} of {expected} bytes); it was left as it is, "
            "restore it from a copy"
        )
    return ""


def _expected_bytes(header: bytes) -> int:
    """Return the length that the header promises, or 0 where it makes no valid promise."""
    (page_bytes,) = struct.unpack_from(">H", header, 16)
    counter, pages = struct.unpack_from(">II", header, 24)
    (valid_for,) = struct.unpack_from(">I", header, 92)
    return pages * (65536 if page_bytes == 1 else page_bytes) if counter == valid_for else 0


def log_of(path: Path) -> Path:
    """Return the write-ahead log that is there while a process has the store open."""
    return path.with_name(f"{path.name}-wal")


def is_writable(path: Path) -> bool:
    """The file, or the folder that it would be made in, takes writes; so does its folder's log."""
    folder = path.parent
    return os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def file_system(path: Path, *, mounts: Path = Path("/proc/mounts")) -> str:
    """Return the type of the file system that holds a path; ``""`` where that can't be told."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    target = path.absolute().resolve()
    best, kind = -1, ""
    for line in lines:
        _, mount_point, mount_kind, *_ = (*line.split(), "", "", "")
        point = Path(mount_point.encode().decode("unicode_escape"))
        # Later mounts hide earlier ones on the same point, hence >=.
        if target.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), mount_kind
    return kind
