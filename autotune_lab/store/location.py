"""Where a store is: turns what a user wrote into a URL, a path and a text without credentials.

Also says what is wrong with a file before any database code touches it.
"""

import os
import re
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from autotune_lab.errors import StoreDamaged, StoreError

# Drivers by backend, the one that is meant where a URL names none first.
_DRIVERS = {"sqlite": ("pysqlite",), "postgresql": ("psycopg",)}

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_LOOKS = 3
_OCTAL = re.compile(r"\\([0-7]{3})")  # how a space in a mount point is written
_PAUSE_S = 0.05

# Locks and shared memory do not hold across hosts on these, so WAL would corrupt the file
# (sqlite.org/wal.html, "All processes using a database must be on the same host computer").
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "9p", "acfs", "afs", "afpfs", "beegfs", "ceph", "cifs", "coda", "davfs",
        "fuse.ceph", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs2", "fuse.gcsfuse",
        "fuse.glusterfs", "fuse.juicefs", "fuse.rclone", "fuse.s3fs", "fuse.seaweedfs",
        "fuse.sshfs", "fuse.vmhgfs-fuse", "fuse.weka", "fuse.wekafs", "gfs2", "glusterfs", "gpfs",
        "lustre", "moosefs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs",
        "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "wekafs",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Location:
    """One store: its URL, its file (None for a server or memory), and how messages call it."""

    url: URL = field(repr=False)  # its options may hold a password
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
        return _file(URL.create("sqlite", database=text))
    try:
        url = make_url(text)
        backend, _, driver = url.drivername.partition("+")
    except (ArgumentError, ValueError):
        raise _unreadable("can't be parsed") from None
    if backend not in _DRIVERS:
        raise _unreadable(f"names a {backend!r} database, and stores are in SQLite or PostgreSQL")
    drivers = _DRIVERS[backend]
    if driver and driver not in drivers:
        raise _unreadable(f"asks for driver {driver!r}, and the lab uses {drivers[0]}")
    if backend == "sqlite":
        return _file(url)
    # The parser takes what follows a bare @ of a password for the host, which messages show.
    if text.count("@") > 1 or ("@" in text and url.username is None):
        raise _unreadable("has an @ beside the one before the host; write it as %40")
    host = url.host or "localhost"
    shown = f"[{host}]" if ":" in host else host
    return Location(
        url.set(drivername=f"{backend}+{drivers[0]}"),
        None,
        f"{backend}://{shown}{f':{url.port}' if url.port else ''}/{url.database or ''}",
    )


def _file(url: URL) -> Location:
    name = url.database or ""
    if url.host:
        raise _unreadable("has two slashes and a name; a file takes three, as in sqlite:///lab.db")
    if url.query or name.startswith("file:"):
        raise _unreadable("asks for options of SQLite; name the file alone, as in sqlite:///lab.db")
    if name in ("", ":memory:"):
        return Location(url, None, "sqlite in memory")
    if "\x00" in name:
        raise _unreadable("holds a NUL character")
    path = Path(name)
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise StoreError(f"{path}: there is no home folder of that name") from error
    return Location(url.set(database=str(path)), path, str(path))


def _unreadable(fault: str) -> StoreError:
    return StoreError(
        f"the store's URL {fault}; write sqlite:///lab.db "
        "or postgresql+psycopg://user@host/database"
    )


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
    target = path.absolute().resolve()  # before the list is read: it may mount what it walks into
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    for line in lines:
        _, mount_point, mount_kind, *_ = (*line.split(), "", "", "")
        point = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), mount_point))
        # Later mounts hide earlier ones on the same point, hence >=.
        if target.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), mount_kind
    return kind
