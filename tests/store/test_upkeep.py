"""A sound store has no faults, a damaged one names each, and copies are made while others write."""

import contextlib
import sqlite3

import pytest

from autotune_lab.errors import StoreError, UsageError
from autotune_lab.store.store import Store
from tests.store.making import (
    A4000,
    config,
    context,
    measure,
    opened,
    pick,
    query,
)


@pytest.fixture
def filled(store):
    for of in (context(), context(model=A4000)):
        run_id, context_id = opened(store, of)
        measure(store, run_id, context_id, 0)
        measure(store, run_id, context_id, 1)
        store.add_pick(pick(of=of))
    return store


def damage(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(sql)


def test_a_sound_store_has_no_faults(filled):
    assert filled.check() == []


@pytest.mark.parametrize(
    ("sql", "faults"),
    [
        ("UPDATE measurements SET raw = x'01' WHERE trial_id = 1", ["measurement of trial 1: "]),
        ("UPDATE measurements SET trial_id = 99 WHERE trial_id = 1",
         ["row 1 of measurements points to a row of trials", "trial 1: is ok without"]),
        ("UPDATE trials SET state = 'good', time_ms = NULL WHERE id = 2", ["trial 2: can't"]),
        ("UPDATE trials SET config = '{' WHERE id = 2", ["config '{': can't be read"]),
        ("UPDATE picks SET evidence = '[]' WHERE id = 2", ["pick in context"]),
        ("UPDATE device_models SET record = REPLACE(record, '132', '131')",
         [f"context {context().id}: is made of the parts of context"]),
        ("UPDATE protocols SET record = '{\"cache\": \"warm\"}'",
         ["context", "context"]),
    ],
)  # fmt: skip
def test_each_fault_is_named(filled, path, sql, faults):
    damage(path, sql)
    found = filled.check()
    assert len(found) == len(faults)
    for fault in faults:
        assert any(line.startswith(fault) for line in found), found


def test_faults_are_listed_up_to_a_bound(filled, path):
    damage(path, "UPDATE trials SET config = '{'")
    assert len(filled.check()) == 2
    assert len(filled.check(most=1)) == 1


def test_a_backup_is_a_store_of_its_own_even_while_another_writes(filled, path, tmp_path):
    copy = tmp_path / "copy.db"
    with Store.open(str(path)) as writer:
        run_id, context_id = opened(writer)
        writer.claim(run_id, context_id, config(7), 7)
        filled.backup(copy)
    with Store.open(str(copy)) as copied:
        assert copied.contexts() == filled.contexts()
        assert len(copied.trials(context().id)) == 3
        assert copied.check() == []


def test_a_backup_replaces_nothing_and_leaves_nothing_half_done(filled, tmp_path):
    taken = tmp_path / "taken.db"
    taken.write_bytes(b"precious")
    with pytest.raises(UsageError, match="is there already"):
        filled.backup(taken)
    assert taken.read_bytes() == b"precious"
    with pytest.raises(StoreError, match="the copy can't be written"):
        filled.backup(tmp_path / "absent" / "copy.db")
    with Store.open("sqlite://") as memory, pytest.raises(UsageError, match="no SQLite file"):
        memory.backup(tmp_path / "copy.db")


def test_vacuum_gives_space_back_and_changes_nothing(filled, path):
    damage(path, "CREATE TABLE ballast AS SELECT randomblob(2000000) AS bytes")
    damage(path, "DROP TABLE ballast")
    before = filled.trials(context().id), query(path, "PRAGMA page_count")[0][0]
    filled.vacuum()
    assert query(path, "PRAGMA page_count")[0][0] < before[1] - 400
    assert filled.trials(context().id) == before[0]
    assert measure(filled, *opened(filled), 9)
