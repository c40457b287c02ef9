"""What a database complains of, as one line that names the store and the way out."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from autotune_lab.errors import StoreBusy, StoreDamaged, StoreError
from autotune_lab.store.location import Location

BUSY_TIMEOUT_S = 30.0

_BUSY = (
    f"another process held it for over {BUSY_TIMEOUT_S:.0f} s; see who with: autotune-lab studies"
)
_FULL = "the disk is full; what was stored before is safe, free some space"
_REFUSED = (
    "the disk refuses to write or read; what was stored before is safe, "
    "look for a quota, a limit on file sizes, or a failing disk"
)
_READ_ONLY = "is read-only; copy it or choose another with --store"
_CLOSED = "can't be opened; check that its folder exists and takes writes"
_DAMAGED_FILE = (
    "is damaged ({cause}); restore it from a copy, or save what is left with: sqlite3 FILE .recover"
)
_OTHER_SCHEMA = (
    "lacks what this version of the lab reads ({cause}); try: autotune-lab store upgrade"
)

# Patterns of complaints, of either database, and what they mean; the first that is found counts.
_MEANINGS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("locked", StoreBusy, _BUSY),
    ("lock timeout", StoreBusy, _BUSY),
    ("disk is full", StoreError, _FULL),
    ("No space left", StoreError, _FULL),
    ("disk I/O error", StoreError, _REFUSED),
    ("readonly", StoreError, _READ_ONLY),
    ("read-only transaction", StoreError, _READ_ONLY),
    ("unable to open", StoreError, _CLOSED),
    ("malformed", StoreDamaged, _DAMAGED_FILE),
    ("no such table", StoreDamaged, _DAMAGED_FILE),
    ("no such column", StoreDamaged, _DAMAGED_FILE),
    (r"^(relation|column) .* does not exist", StoreDamaged, _OTHER_SCHEMA),
)


@contextmanager
def named_errors(location: Location) -> Iterator[None]:
    """Turn what the database raises into an error of the lab.

    Raises:
        StoreBusy, StoreDamaged, StoreError: what it means.
        IntegrityError: passed on, for the callers that know which constraint was broken and why.
    """
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise _named(location, error) from error
    except SQLAlchemyError as error:
        raise StoreError(f"{location.display}: {_first_line(error)}") from error
    except (OverflowError, UnicodeEncodeError) as error:
        # The SQLite driver's own words for a value that it can't send.
        raise StoreError(f"{location.display}: a value can't be stored: {error}") from error


def contradicted(location: Location, error: IntegrityError) -> StoreError:
    """Return the error for a row that a constraint of the schema refused."""
    return StoreError(f"{location.display}: nothing was stored: {_cause(location, error)}")


def _named(location: Location, error: DBAPIError) -> StoreError:
    cause = _cause(location, error)
    # Plain `DatabaseError`, not one of its kinds, is how sqlite3 reports a file it can't read.
    if type(error.orig) is sqlite3.DatabaseError:
        cause = f"malformed: {cause}"
    for pattern, kind, meaning in _MEANINGS:
        if re.search(pattern, cause):
            return kind(f"{location.display}: {meaning.replace('{cause}', cause)}")
    return StoreError(f"{location.display}: {cause}")


def _cause(location: Location, error: DBAPIError) -> str:
    cause = _first_line(error.orig or error)
    password = location.url.password
    return cause.replace(str(password), "***") if password else cause


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
