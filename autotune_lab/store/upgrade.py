"""The schema of a store: which one it has, and how it comes to the one that this code reads.

Migrations are Alembic's, shipped in ``migrations/``. A newer store is never touched, an older
SQLite file is copied before it is changed, eight processes may create one store at once, and no
store is changed under a study that another version of the lab runs on it.
"""

import logging
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, column, inspect, select, table, text

from autotune_lab.errors import StoreDamaged, StoreNeedsUpgrade, StoreTooNew
from autotune_lab.store.engine import copy_file, lock_schema, writing
from autotune_lab.store.liveness import Owner, is_alive
from autotune_lab.store.location import Location

HEAD = "0004"
# What every schema has of a run; the models speak of the last one only.
_RUNS = table(
    "runs",
    *(column(n) for n in ("host", "pid", "process_start", "heartbeat_at", "lab_version", "state")),
)
_MIGRATIONS = Path(__file__).parent / "migrations"

_log = logging.getLogger(__name__)


def revision(connection: Connection, location: Location) -> str:
    """Return the store's schema revision, ``""`` for an empty database.

    Raises:
        StoreTooNew: a newer lab wrote it.
        StoreDamaged: it is a database, but not a store.
    """
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return ""
    found = None
    if "alembic_version" in tables and "trials" in tables:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is None:
        raise StoreDamaged(
            f"{location.display}: is a database but not a store of autotune_lab; "
            "it was left as it is, name another with --store"
        )
    if str(found) > HEAD:
        raise StoreTooNew(
            f"{location.display}: has schema {found}, this version of the lab reads up to {HEAD}; "
            "it was left as it is, upgrade autotune-lab to use it"
        )
    return str(found)


def bring_to_head(engine: Engine, location: Location) -> None:
    """Create or migrate the schema; whoever comes second finds it done.

    Raises:
        StoreNeedsUpgrade: it is older, and a study of an older version is running on it.
        StoreError: the copy of an older store can't be written.
    """
    with writing(engine, location) as connection:
        lock_schema(connection)
        found = revision(connection, location)
        if found == HEAD:
            return
        if found:
            _refuse_in_use(connection, location, found)
        if found and location.path is not None:
            copy = backup(location.path, found)
            _log.warning("%s: migrated to schema %s; a copy is in %s", location.display, HEAD, copy)
        _migrate(connection)


def expect_head(connection: Connection, location: Location) -> None:
    """Make sure, until this transaction ends, that the schema is still the one that was opened.

    Raises:
        StoreTooNew: a newer lab has changed it since.
    """
    lock_schema(connection, shared=True)
    revision(connection, location)


def _refuse_in_use(connection: Connection, location: Location, found: str) -> None:
    now = datetime.now(UTC)
    for run in connection.execute(select(_RUNS).where(_RUNS.c.state == "running")):
        if is_alive(Owner(run.host, run.pid, run.process_start), run.heartbeat_at, now):
            raise StoreNeedsUpgrade(
                f"{location.display}: has schema {found}, and version {run.lab_version} of the lab "
                f"is running a study on it (pid {run.pid} on {run.host.partition('/')[0]}); "
                "let it end or stop it, then run this again"
            )


def refuse_older(location: Location, found: str) -> StoreNeedsUpgrade:
    """Return the error for a store that is older and may not be changed unasked."""
    return StoreNeedsUpgrade(
        f"{location.display}: has schema {found}, this version of the lab needs {HEAD}; "
        "keep a copy, then run: autotune-lab store upgrade"
    )


def backup(path: Path, found: str) -> Path:
    """Copy an SQLite store beside itself, its log included, and return the copy's path.

    Raises:
        StoreError: the copy can't be written; the store is untouched.
    """
    copy = path.with_name(f"{path.stem}.schema-{found}{path.suffix}")
    number = 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.stem}.schema-{found}-{number}{path.suffix}")
    copy_file(path, copy)
    return copy


def _migrate(connection: Connection) -> None:
    """Run Alembic in the open transaction, so that a failed migration leaves nothing behind."""
    # Imported here: it takes 0.2 s, and only a new or an old store needs it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
