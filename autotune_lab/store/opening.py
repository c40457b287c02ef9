"""Opens a store or says why not: whether it may be created, migrated, written."""

from sqlalchemy import Engine

from autotune_lab.errors import StoreDamaged, StoreError
from autotune_lab.store import engine as engines
from autotune_lab.store.location import Location, check_file, is_writable, log_of
from autotune_lab.store.upgrade import HEAD, bring_to_head, refuse_older, revision


def open_engine(location: Location, *, create: bool, migrate: bool) -> Engine:
    """Return an engine on a store whose schema is the one that this code reads.

    Args:
        location: where it is.
        create: make it where there is none, and insist that it takes writes.
        migrate: bring an older one up to date (an SQLite file is copied first).

    Raises:
        StoreDamaged, StoreTooNew: it was left untouched.
        StoreNeedsUpgrade: it is older and may not be migrated.
        StoreError: it is absent, read-only or can't be opened.
    """
    found = ""
    if location.path is not None:
        check_file(location.path)
        if create and not location.path.parent.is_dir():
            raise StoreError(
                f"{location.display}: there is no folder {location.path.parent}; make it first"
            )
        if location.path.exists() and location.path.stat().st_size:
            found = _untouched_revision(location)
        elif not create:
            raise StoreError(
                f"{location.display}: no store there; make one with: autotune-lab tune KERNEL, "
                "or name another with --store"
            )
        if not is_writable(location.path):
            return _open_read_only(location, found, create=create)
    engine = engines.connect(location)
    try:
        return _at_head(engine, location, found, create=create, migrate=migrate)
    except BaseException:
        engine.dispose()
        raise


def _at_head(
    engine: Engine, location: Location, found: str, *, create: bool, migrate: bool
) -> Engine:
    if location.path is None:
        with engines.reading(engine, location) as connection:
            found = revision(connection, location)
    if found == HEAD:
        return engine
    if not found and not create:
        raise StoreError(
            f"{location.display}: holds no store; make one with: autotune-lab tune KERNEL"
        )
    if found and not migrate:
        raise refuse_older(location, found)
    bring_to_head(engine, location)
    return engine


def _untouched_revision(location: Location) -> str:
    """Read the revision of a file without changing a byte in its folder, if nobody writes to it."""
    assert location.path is not None
    is_idle = not log_of(location.path).exists()
    try:
        return _read_revision(location, immutable=is_idle)
    except StoreDamaged:
        # Without locks, a process that just began to write can make a good file look torn.
        if not is_idle or not is_writable(location.path):
            raise
        return _read_revision(location, immutable=False)


def _read_revision(location: Location, *, immutable: bool) -> str:
    engine = engines.connect_untouched(location, immutable=immutable)
    with engines.reading(engine, location) as connection:
        return revision(connection, location)


def _open_read_only(location: Location, found: str, *, create: bool) -> Engine:
    """Open for reading what can't be written: a mailed copy, a colleague's folder."""
    if create:
        raise StoreError(
            f"{location.display}: is read-only; copy it to a folder of your own "
            "or name another with --store"
        )
    if found != HEAD:
        raise refuse_older(location, found)
    assert location.path is not None
    # What is still in a log would be missing from an immutable read, so that one takes locks.
    return engines.connect_untouched(location, immutable=not log_of(location.path).exists())
