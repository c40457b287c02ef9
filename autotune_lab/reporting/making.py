"""The whole way from a store to a page: gather, build, write."""

from datetime import UTC, datetime
from pathlib import Path

from autotune_lab.reporting.builder import build
from autotune_lab.reporting.data import gather
from autotune_lab.reporting.writing import write
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store


def write_report(
    store: Store, query: Query | None = None, directory: Path = Path("out/report"), title: str = ""
) -> Path:
    """Write a report of what a query selects, and return the page's path.

    Raises:
        StoreError: the store can't be read.
        ExportError: the folder can't be written.
    """
    report = build(
        gather(store, query or Query()),
        title=title or "Autotuning report",
        store=store.url_display,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return write(report, directory)
