"""Every schema that was ever released becomes the present one, and a copy of it stays."""

import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from autotune_lab.records import Phase, Source, TrialState
from autotune_lab.store import upgrade
from autotune_lab.store.schema import Base
from autotune_lab.store.store import Store
from tests.store.making import A4000, config, context, opened, pick, query

ASSETS = Path(__file__).parent / "assets"
OLD = sorted(ASSETS.glob("v*.db"))
MIGRATIONS = Path(upgrade.__file__).parent / "migrations"


def revisions():
    settings = Config()
    settings.set_main_option("script_location", str(MIGRATIONS))
    return ScriptDirectory.from_config(settings)


def test_the_head_that_is_looked_for_is_the_last_migration():
    assert revisions().get_current_head() == upgrade.HEAD


def test_a_store_of_every_earlier_schema_is_kept():
    earlier = {script.revision for script in revisions().walk_revisions()} - {upgrade.HEAD}
    assert {path.stem.removeprefix("v") for path in OLD} >= earlier


def test_a_new_store_is_what_the_models_say(store):
    with store.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.parametrize("old", OLD, ids=lambda old: old.stem)
def test_an_older_store_is_migrated_and_a_copy_stays(old, path, caplog):
    shutil.copy(old, path)
    with caplog.at_level(logging.WARNING), Store.open(str(path), create=False) as store:
        found = store.trials(context().id)
        imported = store.trials(context(model=A4000, source=Source.IMPORTED).id)
        assert store.picks() == [pick()]
        with store.reading() as connection:
            assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    assert [entry.state for entry in found] == [
        TrialState.OK,
        TrialState.CRASHED,
        TrialState.INTERRUPTED,
    ]
    phases = [(taken.phase, taken.round) for taken in found[0].measurements]
    assert phases == [(Phase.SCREEN, 0), (Phase.PLAYOFF, 1), (Phase.PLAYOFF, 2)]
    assert [entry.screen_ms for entry in imported] == [4.5]
    revision = old.stem.removeprefix("v")
    copy = path.with_name(f"lab.schema-{revision}.db")
    assert f"a copy is in {copy}" in caplog.text
    for table in ("trials", "measurements", "picks", "runs", "alembic_version"):
        assert query(copy, f"SELECT * FROM {table}") == query(old, f"SELECT * FROM {table}")


def test_a_migrated_store_goes_on_where_it_stopped(path):
    shutil.copy(ASSETS / "v0001.db", path)
    with Store.open(str(path)) as store:
        run_id, context_id = opened(store)
        assert store.claim(run_id, context_id, config(0), 0) is None
        assert store.claim(run_id, context_id, config(2), 2) is not None
    uids = [uid for (uid,) in query(path, "SELECT uid FROM runs")]
    assert len(set(uids)) == len(uids)
    assert all(len(uid) == 32 for uid in uids)


def test_a_copy_never_replaces_an_earlier_copy(path):
    shutil.copy(ASSETS / "v0001.db", path)
    taken = path.with_name("lab.schema-0001.db")
    taken.write_bytes(b"precious")
    Store.open(str(path)).close()
    assert taken.read_bytes() == b"precious"
    assert path.with_name("lab.schema-0001-2.db").exists()


def test_processes_that_meet_an_older_store_migrate_it_once(path):
    shutil.copy(ASSETS / "v0001.db", path)
    code = "import sys; from autotune_lab.store.store import Store; Store.open(sys.argv[1]).close()"
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [child.wait(60) for child in children] == [0] * 3
    assert len(list(path.parent.glob("lab.schema-0001*.db"))) == 1


def test_a_migration_that_fails_leaves_the_store_as_it_was(path, monkeypatch):
    shutil.copy(ASSETS / "v0001.db", path)
    before = query(path, "SELECT * FROM runs"), query(path, "SELECT sql FROM sqlite_master")

    def fails(connection):
        connection.exec_driver_sql("ALTER TABLE runs ADD COLUMN uid TEXT")
        raise RuntimeError("half way")

    monkeypatch.setattr(upgrade, "_migrate", fails)
    with pytest.raises(RuntimeError, match="half way"):
        Store.open(str(path))
    after = query(path, "SELECT * FROM runs"), query(path, "SELECT sql FROM sqlite_master")
    assert after == before
