"""Damaged, old, new, foreign, absent and read-only stores give one line and stay as they are."""

import collections
import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from autotune_lab.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreNeedsUpgrade,
    StoreTooNew,
)
from autotune_lab.store.store import Store
from tests.store.making import config, context, measure, ok, opened, pick, query

ASSETS = Path(__file__).parent / "assets"


@pytest.fixture
def filled(path):
    """A closed store with enough trials to have a middle."""
    with Store.open(str(path)) as store:
        run_id, context_id = opened(store)
        for number in range(60):
            measure(store, run_id, context_id, number)
        store.add_pick(pick())
    return path


@contextlib.contextmanager
def as_nobody():
    """Give up root's right to write anywhere, where tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def read_only(filled):
    """A store in a folder that takes no writes."""
    folder = Path(tempfile.mkdtemp())
    copy = shutil.copy(filled, folder / "mailed.db")
    Path(copy).chmod(0o444)
    folder.chmod(0o555)
    yield folder / "mailed.db"
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_store_is_made_where_there_is_none_and_opened_again(path):
    for _ in range(2):
        with Store.open(f"sqlite:///{path}") as store:
            opened(store)
            assert store.url_display == str(path)
    assert query(path, "SELECT COUNT(*) FROM runs") == [(2,)]


def test_opening_for_reading_makes_nothing(path):
    with pytest.raises(StoreError, match=r"no store there; make one with: autotune-lab tune"):
        Store.open(str(path), create=False)
    assert list(path.parent.iterdir()) == []


def test_an_empty_file_is_a_store_to_be_made_but_not_to_be_read(path):
    path.touch()
    with pytest.raises(StoreError, match="no store there"):
        Store.open(str(path), create=False)
    assert path.read_bytes() == b""
    with Store.open(str(path)) as store:
        opened(store)


def test_a_missing_folder_is_named(tmp_path):
    absent = tmp_path / "absent" / "lab.db"
    with pytest.raises(StoreError, match=f"{absent}: .*folder"):
        Store.open(str(absent))


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="is not a file"):
        Store.open(str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [b"hello", b"not a database\n" * 100, b"SQLite format 3\x00", b"\x00" * 4096],
    ids=["short", "text", "header only", "zeros"],
)
@pytest.mark.parametrize("create", [True, False])
def test_what_is_no_database_is_left_untouched(path, content, create):
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=str(path)):
        Store.open(str(path), create=create)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_a_truncated_store_is_left_untouched(filled, keep):
    content = filled.read_bytes()
    cut = content[: int(len(content) * keep)]
    filled.write_bytes(cut)
    with pytest.raises(StoreDamaged, match=f"{filled}: is cut short"):
        Store.open(str(filled))
    assert filled.read_bytes() == cut


def test_a_store_with_damaged_pages_is_named_and_left_untouched(filled):
    content = bytearray(filled.read_bytes())
    # From the second page on; the first holds the schema, so that the store still opens.
    content[4096:] = os.urandom(len(content) - 4096)
    filled.write_bytes(content)
    with pytest.raises(StoreDamaged, match=str(filled)), Store.open(str(filled)) as store:
        store.trials(context().id)
    assert filled.read_bytes() == bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE measurements SET raw = x'0102'",
        "UPDATE trials SET config = '[1'",
        "UPDATE picks SET evidence = '{}'",
        "UPDATE problems SET record = '{\"M\": NaN}'",
    ],
)
def test_a_cell_that_can_not_be_read_is_named(filled, damage):
    with contextlib.closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute(damage)
    with Store.open(str(filled)) as store, pytest.raises(StoreDamaged, match=r"can't be read"):
        store.contexts(), store.picks(), store.trials(context().id)


@pytest.mark.parametrize("revision", ["9999", "0005", "a1b2c3"])
def test_a_newer_store_is_refused_and_left_untouched(filled, revision):
    with contextlib.closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
    content = filled.read_bytes()
    for create in (True, False):
        with pytest.raises(StoreTooNew, match=f"has schema {revision}"):
            Store.open(str(filled), create=create)
    assert filled.read_bytes() == content
    assert list(filled.parent.iterdir()) == [filled]


def test_another_programs_database_is_left_untouched(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE trials (id INTEGER)")
    content = path.read_bytes()
    with pytest.raises(StoreDamaged, match="not a store of autotune_lab"):
        Store.open(str(path))
    assert path.read_bytes() == content


def test_a_read_only_store_can_be_read(read_only):
    with as_nobody(), Store.open(str(read_only), create=False) as store:
        assert len(store.trials(context().id)) == 60
        assert store.picks() == [pick()]


def test_a_read_only_store_can_not_be_tuned_into(read_only):
    with as_nobody(), pytest.raises(StoreError, match="is read-only; copy it"):
        Store.open(str(read_only))


def test_writing_to_a_store_opened_for_reading_gives_one_line(read_only):
    with (
        as_nobody(),
        Store.open(str(read_only), create=False) as store,
        pytest.raises(StoreError, match="is read-only"),
    ):
        store.begin_run("a study", {})


def test_a_read_only_folder_takes_no_new_store(read_only):
    with as_nobody(), pytest.raises(StoreError, match="is read-only; copy it"):
        Store.open(str(read_only.parent / "new.db"))


def test_an_older_store_that_can_not_be_migrated_is_refused(read_only):
    read_only.parent.chmod(0o755)
    old = read_only.parent / "old.db"
    shutil.copy(ASSETS / "v0001.db", old)
    old.chmod(0o444)
    read_only.parent.chmod(0o555)
    with as_nobody(), pytest.raises(StoreNeedsUpgrade, match="has schema 0001"):
        Store.open(str(old), create=False)


def test_migration_can_be_left_to_the_user(path):
    shutil.copy(ASSETS / "v0001.db", path)
    content = path.read_bytes()
    with pytest.raises(StoreNeedsUpgrade, match="autotune-lab store upgrade"):
        Store.open(str(path), migrate=False)
    assert path.read_bytes() == content


def test_a_full_disk_loses_nothing_that_was_stored(store, path):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0)
    with store.reading() as connection:
        (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 4}")
    numbers = iter(range(1, 500))
    with pytest.raises(StoreError, match="the disk is full; what was stored before is safe"):
        collections.deque((measure(store, run_id, context_id, n) for n in numbers), maxlen=0)
    done = store.trials(context_id)
    assert done[0].screen_ms == 1.0
    with store.reading() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 100000")
    unfinished = done[-1] if done[-1].state == "running" else None
    if unfinished:
        store.finish(unfinished.id, ok(2.0), "GPU-0")
    measure(store, run_id, context_id, 900)
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_store_that_is_held_for_too_long_is_busy_not_broken(store, path):
    run_id, context_id = opened(store)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with store.reading() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 50")
        with pytest.raises(StoreBusy, match="another process held it"):
            store.claim(run_id, context_id, config(0), 0)
        holder.execute("ROLLBACK")
    assert store.claim(run_id, context_id, config(0), 0) is not None
