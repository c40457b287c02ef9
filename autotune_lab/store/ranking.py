"""Which trials come first when few are asked for, without reading the others."""

from sqlalchemy import ColumnElement, Connection, select
from sqlalchemy.orm import aliased

from autotune_lab.store.query import Query
from autotune_lab.store.schema import TrialRow
from autotune_lab.store.selecting import in_study, select_context_ids


def fastest_ids(
    connection: Connection, query: Query, limit: int, *, state: str | None = None
) -> list[int]:
    """Return ids of at most ``limit`` trials: the fastest, then those without a time, oldest first.

    Walks the index of each context's times, so it costs contexts x limit and not the store.
    """
    kept: list[ColumnElement[bool]] = []
    if query.study is not None:
        kept.append(in_study(query.study))
    if state is not None:
        kept.append(TrialRow.state == state)
    contexts = select_context_ids(query).subquery()
    leaders = (
        select(TrialRow.id)
        .where(TrialRow.context_id == contexts.c.id, TrialRow.time_ms.is_not(None), *kept)
        .order_by(TrialRow.time_ms)
        .limit(limit)
        .correlate(contexts)
    )
    leader = aliased(TrialRow)
    timed = (
        select(leader.id)
        .select_from(contexts)
        .join(leader, leader.id.in_(leaders))
        .order_by(leader.time_ms, leader.id)
        .limit(limit)
    )
    found = list(connection.execute(timed).scalars())
    if len(found) < limit:
        untimed = (
            select(TrialRow.id)
            .where(TrialRow.context_id.in_(select(contexts.c.id)), TrialRow.time_ms.is_(None))
            .where(*kept)
            .order_by(TrialRow.id)
            .limit(limit - len(found))
        )
        found += connection.execute(untimed).scalars()
    return found
