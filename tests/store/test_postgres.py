"""The same store on PostgreSQL, in a cluster that is made for these tests and thrown away."""

import getpass
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from autotune_lab.errors import StoreDamaged, StoreError, StoreNeedsUpgrade, StoreTooNew, UsageError
from autotune_lab.records import Phase, TrialState
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.store.schema import Base
from autotune_lab.store.store import Store
from tests.store.making import (
    UUID,
    config,
    context,
    failed,
    measure,
    measurement,
    ok,
    opened,
    pick,
    trial,
)

pytest.importorskip("psycopg")
BINARIES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
pytestmark = pytest.mark.skipif(BINARIES is None, reason="PostgreSQL is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    """A cluster on loopback; its URL without a database. PostgreSQL refuses to run as root."""
    user = "postgres" if os.geteuid() == 0 else getpass.getuser()
    folder = Path(tempfile.mkdtemp(prefix="lab-postgres-"))
    os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    port = free_port()

    def run(name, *arguments):
        command = [BINARIES / name, "-D", folder / "data", *arguments]
        as_user = {"user": user} if os.geteuid() == 0 else {}
        output = subprocess.DEVNULL
        subprocess.run(command, check=True, stdout=output, stderr=output, cwd=folder, **as_user)

    run("initdb", "-A", "trust", "-U", "lab", "-E", "UTF8")
    run("pg_ctl", "-w", "-o", f"-p {port} -k {folder} -h 127.0.0.1 -c fsync=off", "start")
    yield f"postgresql+psycopg://lab:s3cret@127.0.0.1:{port}"
    run("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


def execute(url, sql):
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(sql))
    engine.dispose()


@pytest.fixture
def url(server):
    """A new, empty database."""
    name = f"lab_{uuid.uuid4().hex}"
    execute(f"{server}/postgres", f"CREATE DATABASE {name}")
    yield f"{server}/{name}"
    execute(f"{server}/postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def store(url):
    with Store.open(url) as opened_store:
        yield opened_store


def test_the_migrations_make_what_the_models_say(store):
    with store.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_a_study_is_kept_and_resumed(store, url):
    run_id, context_id = opened(store)
    first = measure(store, run_id, context_id, 0, ok(2.0))
    measure(store, run_id, context_id, 1, replace(failed(TrialState.CRASHED), detail="a\x00b"))
    store.add_measurement(first, measurement(2.1, phase=Phase.PLAYOFF, round=1))
    store.claim(run_id, context_id, config(2), 2)
    store.add_pick(pick())
    store.end_run(run_id, "interrupted")
    with Store.open(url, create=False) as again:
        assert again.contexts() == [context()]
        assert again.picks() == [pick()]
        run_id, context_id = opened(again)
        assert again.claim(run_id, context_id, config(0), 0) is None
        measure(again, run_id, context_id, 2)
        found = again.trials(context_id)
    assert [(entry.state, entry.attempt) for entry in found] == [
        (TrialState.OK, 1),
        (TrialState.CRASHED, 1),
        (TrialState.INTERRUPTED, 1),
        (TrialState.OK, 2),
    ]
    assert [taken.median_ms for taken in found[0].measurements] == [2.0, 2.1]


def test_finished_trials_and_unknown_runs_are_refused(store):
    run_id, context_id = opened(store)
    trial_id = measure(store, run_id, context_id, 0)
    with pytest.raises(StoreError, match="is finished as ok"):
        store.finish(trial_id, ok(0.1), UUID)
    with pytest.raises(UsageError, match="has no run 99"):
        store.claim(99, context_id, config(1), 1)


def test_frames_and_batches_are_the_same(store):
    _, context_id = opened(store)
    assert store.record_all(context_id, [trial(n) for n in range(700)]) == list(range(1, 701))
    assert store.record_all(context_id, [trial(5)]) == [None]
    found = frames.trials(store, Query(all_code=False))
    assert found["number"].tolist() == list(range(700))
    assert str(found["shared_bytes"].dtype) == "Int64"
    assert len(frames.measurements(store, Query())) == 700
    assert frames.contexts(store, Query())["runs"].tolist() == [0]


def test_upkeep_works_where_it_can(store, tmp_path):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0)
    assert store.check() == []
    store.vacuum()
    with pytest.raises(UsageError, match="pg_dump"):
        store.backup(tmp_path / "copy.db")


def test_it_merges_with_a_file_and_back(store, tmp_path):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0)
    store.add_pick(pick())
    with Store.open(str(tmp_path / "lab.db")) as file:
        merged = file.merge_from(store)
        assert (merged.trials, merged.measurements, merged.picks) == (1, 1, 1)
        assert file.merge_from(store).trials == 0
        assert store.merge_from(file).runs == 0
        assert file.picks() == store.picks()


def test_eight_processes_make_one_store_and_lose_nothing(url):
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.a_writer", url, str(25 * position), "25"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for position in range(8)
    ]
    assert [child.stdout.readline() for child in children] == ["ready\n"] * 8
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    ends = [(*child.communicate(timeout=120), child.returncode) for child in children]
    assert [(code, stderr) for _, stderr, code in ends] == [(0, "")] * 8
    with Store.open(url, create=False) as store:
        numbers = [entry.number for entry in store.trials(context().id)]
    assert sorted(numbers) == list(range(200))


def test_an_empty_or_foreign_or_newer_database_is_refused(url):
    with pytest.raises(StoreError, match="holds no store"):
        Store.open(url, create=False)
    Store.open(url).close()
    execute(url, "UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(StoreNeedsUpgrade, match="has schema 0001"):
        Store.open(url)
    execute(url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreTooNew, match="has schema 9999"):
        Store.open(url)
    execute(url, "DROP TABLE alembic_version")
    with pytest.raises(StoreDamaged, match="not a store of autotune_lab"):
        Store.open(url)


def test_no_message_holds_a_credential(url):
    for wrong in (url.replace("lab:s3cret", "ada:s3cret"), f"{url}_absent"):
        with pytest.raises(StoreError) as caught:
            Store.open(wrong)
        assert "s3cret" not in str(caught.value)
        assert "postgresql://127.0.0.1" in str(caught.value)
