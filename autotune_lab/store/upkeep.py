"""What is wrong with a store, found by reading every cell that holds more than a number."""

from collections.abc import Iterator

from sqlalchemy import Connection, RowMapping

from autotune_lab.errors import StoreError
from autotune_lab.records import TrialState
from autotune_lab.store import ceilings, decoding, picks, trials
from autotune_lab.store.engine import file_faults
from autotune_lab.store.query import Query
from autotune_lab.store.selecting import select_contexts

_EVERYTHING = Query(include_simulated=True)


def faults(connection: Connection) -> Iterator[str]:
    """Yield one line a fault: of the file, of a context, of a trial, of the picks."""
    yield from file_faults(connection)
    readable: list[str] = []
    for row in connection.execute(select_contexts(_EVERYTHING)).mappings().all():
        found = list(_context_faults(connection, row))
        yield from found
        if not found:
            readable.append(row["context_id"])
    try:
        picks.load(connection, Query(context_ids=readable, include_simulated=True), latest=False)
        ceilings.newest(connection)
    except StoreError as error:
        yield str(error)


def _context_faults(connection: Connection, row: RowMapping) -> Iterator[str]:
    context_id = row["context_id"]
    try:
        context = decoding.context_of(row)
        if context.id != context_id:
            yield f"context {context_id}: is made of the parts of context {context.id}"
        for trial in trials.load(connection, context_id, None):
            if trial.state is TrialState.OK and not trial.measurements:
                yield f"trial {trial.id}: is ok without a measurement"
    except StoreError as error:
        yield str(error)
