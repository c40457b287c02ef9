"""Picks in the store: only ever added; the last full one of a context is its winner."""

from collections.abc import Iterable

from sqlalchemy import Connection, insert, select

from autotune_lab.records import Pick
from autotune_lab.store import decoding, encoding
from autotune_lab.store.query import Query
from autotune_lab.store.schema import PickRow
from autotune_lab.store.selecting import select_contexts

_BATCH = 500


def add(connection: Connection, pick: Pick) -> None:
    """Insert a pick."""
    connection.execute(insert(PickRow).values(encoding.pick_values(pick)))


def load(connection: Connection, query: Query, *, latest: bool) -> list[Pick]:
    """Read picks, oldest first; with ``latest`` the one that counts in each context."""
    contexts = {
        row["context_id"]: decoding.context_of(row)
        for row in connection.execute(select_contexts(query)).mappings()
    }
    found: dict[str, list[Pick]] = {context_id: [] for context_id in contexts}
    chosen = select(PickRow.context_id, PickRow.evidence).order_by(PickRow.picked_at, PickRow.id)
    for context_id, evidence in connection.execute(chosen):
        if context_id in contexts:
            found[context_id].append(decoding.pick_of(evidence, contexts[context_id]))
    if latest:
        return [best for picks in found.values() if (best := _standing(picks)) is not None]
    return [pick for picks in found.values() for pick in picks]


def _standing(picks: Iterable[Pick]) -> Pick | None:
    """Return the last pick; one from a search that was cut short never replaces a fuller one."""
    best: Pick | None = None
    for pick in picks:
        if best is None or "partial" not in pick.flags or "partial" in best.flags:
            best = pick
    return best
