"""Connections to a store: the one place that knows what SQLite and PostgreSQL need differently.

Every connection waits up to 30 s for a lock. SQLite's also check foreign keys and take their write
lock at the start of a writing transaction, so that a writer waits instead of failing half-way.
"""

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.pool import NullPool, StaticPool

from autotune_lab.errors import StoreError
from autotune_lab.store.complaints import BUSY_TIMEOUT_S, named_errors
from autotune_lab.store.location import NETWORK_FILE_SYSTEMS, Location, file_system

_CONNECT_TIMEOUT_S = 15
_WRITER = "autotune_lab_writer"
# Any constant will do as long as nothing else in the database uses it; this one spells "ATLB".
_SCHEMA_LOCK = 0x41544C42

_log = logging.getLogger(__name__)


def connect(location: Location) -> Engine:
    """Return an engine that reads and writes; nothing is connected yet.

    Raises:
        StoreError: the database's driver is not installed.
    """
    if not location.is_sqlite:
        return _connect_server(location)
    engine = create_engine(
        location.url,
        poolclass=StaticPool if location.is_memory else None,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
    )
    wal = location.path is not None and _takes_wal(location)
    event.listen(engine, "connect", lambda connection, _: _prepare(connection, wal=wal))
    event.listen(engine, "begin", _begin)
    return engine


def _connect_server(location: Location) -> Engine:
    url = location.url
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(_CONNECT_TIMEOUT_S)})
    try:
        engine = create_engine(url, pool_pre_ping=True)
    except ImportError as error:
        raise StoreError(
            f"{location.display}: PostgreSQL needs a driver; pip install 'autotune-lab[postgres]'"
        ) from error
    event.listen(engine, "connect", lambda connection, _: _bound_waits(connection))
    return engine


def _bound_waits(connection: Any) -> None:
    connection.execute(f"SET lock_timeout = {BUSY_TIMEOUT_S * 1000:.0f}")
    connection.commit()


def connect_untouched(location: Location, *, immutable: bool = False) -> Engine:
    """Return an engine that can't change the store; ``immutable`` needs no lock or log file."""
    if not location.is_sqlite or location.path is None:
        return connect(location)
    mode = "mode=ro&immutable=1" if immutable else "mode=ro"
    uri = f"{location.path.absolute().as_uri()}?{mode}"
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(
            uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None
        ),
        poolclass=NullPool,
    )
    event.listen(engine, "begin", _begin)
    return engine


@contextmanager
def reading(engine: Engine, location: Location) -> Iterator[Connection]:
    """Open a transaction that sees one state of the store and never blocks a writer."""
    options = {} if location.is_sqlite else {"isolation_level": "REPEATABLE READ"}
    with named_errors(location), engine.connect().execution_options(**options) as connection:
        yield connection


@contextmanager
def writing(engine: Engine, location: Location) -> Iterator[Connection]:
    """Open a transaction that is committed at the end, or rolled back as a whole."""
    with (
        named_errors(location),
        engine.connect().execution_options(**{_WRITER: True}) as connection,
        connection.begin(),
    ):
        yield connection


def lock_schema(connection: Connection, *, shared: bool = False) -> None:
    """Hold off others that would change the schema until this transaction ends.

    With ``shared`` others may read it meanwhile. In SQLite a writer is always alone.
    """
    if connection.dialect.name == "postgresql":
        kind = "_shared" if shared else ""
        lock = text(f"SELECT pg_advisory_xact_lock{kind}(:key)")
        connection.execute(lock, {"key": _SCHEMA_LOCK})


def file_faults(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with its file; a server looks after its own."""
    if connection.dialect.name != "sqlite":
        return []
    found = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return [line for line in found if line != "ok"] + [
        f"row {row[1]} of {row[0]} points to a row of {row[2]} that is not there" for row in orphans
    ]


def copy_file(path: Path, target: Path) -> None:
    """Copy an SQLite store, its log included, whoever is writing to it.

    The copy gets its name once it is whole; a kill leaves no more than a ``.part`` file.

    Raises:
        StoreError: the copy can't be written; nothing is left of it.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        with (
            closing(sqlite3.connect(path)) as source,
            closing(sqlite3.connect(part)) as copy,
        ):
            source.backup(copy)
        part.replace(target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{target}: the copy can't be written: {error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def compact(engine: Engine, location: Location) -> None:
    """Give unused pages back to the file system."""
    with named_errors(location):
        if location.is_sqlite:
            # Past SQLAlchemy, which begins a transaction, inside which SQLite can't do this.
            with closing(engine.raw_connection()) as raw:
                raw.cursor().execute("VACUUM")
        else:
            with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                connection.exec_driver_sql("VACUUM")


def _takes_wal(location: Location) -> bool:
    assert location.path is not None
    kind = file_system(location.path)
    if kind in NETWORK_FILE_SYSTEMS:
        _log.warning(
            "%s: is on a network file system (%s), so it is opened without a write-ahead log; "
            "keep it on a local disk, or use PostgreSQL when several machines write",
            location.display,
            kind,
        )
        return False
    return True


def _prepare(connection: Any, *, wal: bool) -> None:
    """Set what SQLite keeps per connection."""
    # The driver must not open transactions by itself: `_begin` does, with the lock that is needed.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000:.0f}")
    connection.execute("PRAGMA foreign_keys = ON")
    if wal:
        _set_journal(connection, "wal")
        # In WAL mode this survives any death of the process; only a power cut may cost the last
        # commits, never the file (sqlite.org/pragma.html#pragma_synchronous).
        connection.execute("PRAGMA synchronous = NORMAL")
    else:
        _set_journal(connection, "delete")


def _set_journal(connection: Any, mode: str) -> None:
    """Switch the journal; the switch ignores the busy time-out, so eight openers at once retry."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] in (mode, "memory"):
                return
            connection.execute(f"PRAGMA journal_mode = {mode}")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.001)


def _begin(connection: Connection) -> None:
    is_writer = connection.get_execution_options().get(_WRITER, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")
