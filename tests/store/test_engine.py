"""What every connection to an SQLite store is set to."""

import contextlib
import logging
import sqlite3

import pytest

from autotune_lab.store import engine
from autotune_lab.store.store import Store
from tests.store.making import measure, opened, query


def setting(store, name):
    with store.reading() as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


def test_every_connection_waits_checks_keys_and_writes_ahead(store):
    with store.reading(), store.reading(), store.reading():
        for name, value in (
            ("busy_timeout", 30_000),
            ("foreign_keys", 1),
            ("journal_mode", "wal"),
            ("synchronous", 1),
        ):
            assert setting(store, name) == value


def test_reading_sees_one_state_and_blocks_no_writer(store):
    run_id, context_id = opened(store)
    with store.reading() as connection:
        count = "SELECT COUNT(*) FROM trials"
        assert connection.exec_driver_sql(count).scalar() == 0
        measure(store, run_id, context_id, 0)
        assert connection.exec_driver_sql(count).scalar() == 0
    assert setting(store, "data_version") is not None
    assert len(store.trials(context_id)) == 1


def test_a_failed_transaction_leaves_nothing(store, path):
    def write_and_fail():
        with store.writing() as connection:
            connection.exec_driver_sql("INSERT INTO studies (name, created_at) VALUES ('x', '')")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert query(path, "SELECT * FROM studies") == []


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
def test_on_a_network_file_system_there_is_a_warning_and_no_wal(path, monkeypatch, caplog, kind):
    Store.open(str(path)).close()
    monkeypatch.setattr(engine, "file_system", lambda path: kind)
    with caplog.at_level(logging.WARNING), Store.open(str(path)) as store:
        run_id, context_id = opened(store)
        measure(store, run_id, context_id, 0)
        assert setting(store, "journal_mode") == "delete"
        assert setting(store, "busy_timeout") == 30_000
    assert f"network file system ({kind})" in caplog.text
    assert not path.with_name("lab.db-wal").exists()


def test_the_last_to_close_leaves_one_file(path):
    with Store.open(str(path)) as store:
        opened(store)
        assert path.with_name("lab.db-wal").exists()
    assert list(path.parent.iterdir()) == [path]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
