"""What is running is shown while it runs, to people and to machines; the dead are not."""

import json
import os
import pty
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from autotune_lab.definitions import Problem
from autotune_lab.records import TrialState
from autotune_lab.store.store import Store
from tests.store.making import config, context, failed, measure, ok, opened

WATCH = [sys.executable, "-m", "autotune_lab", "--store", "lab.db", "watch"]


@pytest.fixture
def store(tmp_path):
    with Store.open(str(tmp_path / "lab.db")) as made:
        yield made


def look(folder, *options):
    done = subprocess.run([*WATCH, *options], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fill(store):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0, ok(2.0))
    measure(store, run_id, context_id, 1, ok(1.5))
    measure(store, run_id, context_id, 2, failed(TrialState.CRASHED))
    store.claim(run_id, context_id, config(3), 3)
    return run_id


def test_a_running_study_is_shown_with_its_best_and_its_counts(store, tmp_path):
    fill(store)
    (entry,) = json.loads(look(tmp_path, "--json"))
    assert entry["best_ms"] == 1.5
    assert entry["trials"] == {"ok": 2, "crashed": 1, "running": 1}
    assert (entry["study"], entry["kernel"], entry["pid"]) == ("a study", "matmul", os.getpid())
    shown = look(tmp_path, "--once")
    assert "nvidia-h200" in shown
    assert "2 ok, 1 crashed" in shown


def test_what_has_ended_or_died_is_not_shown(store, tmp_path):
    store.end_run(fill(store), "done")
    code = (
        "import sys; from tests.store.making import *; from autotune_lab.store.store import Store;"
        "store = Store.open(sys.argv[1]); opened(store, context(source=Source.REPLAY))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lab.db")], check=True)
    assert json.loads(look(tmp_path, "--json")) == []
    assert look(tmp_path, "--once") == "no study is running\n"


def test_each_context_of_each_run_has_its_own_counts(store):
    fill(store)
    run_id, other = opened(store, replace(context(), problem=Problem(M=16)))
    measure(store, run_id, other, 0, ok(7.0))
    found = store.progress()
    assert [(e.run_id, e.best_ms, e.finished, e.running) for e in found] == [
        (1, 1.5, 3, 1),
        (2, 7.0, 1, 0),
    ]


def test_lines_follow_the_changes_and_an_interrupt_ends_it_quietly(store, tmp_path):
    run_id = fill(store)
    command = [*WATCH, "--every", "0.1"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True) as watching:
        first = watching.stdout.readline()
        store.end_run(run_id, "done")
        second = watching.stdout.readline()
        watching.send_signal(2)
        assert watching.wait(10) == 0
        assert watching.stderr.read() == ""
    assert "best 1.5 ms, 3 finished (2 ok, 1 crashed), 1 running" in first
    assert second == "no study is running\n"


def test_a_terminal_gets_a_table_that_is_redrawn(store, tmp_path):
    fill(store)
    ours, theirs = pty.openpty()
    command = [*WATCH, "--every", "0.1"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=theirs, env=environment) as watching:
        os.close(theirs)
        seen = ""
        until = time.monotonic() + 20
        while seen.count("nvidia-h200") < 2 and time.monotonic() < until:
            seen += os.read(ours, 4096).decode(errors="replace")
        watching.send_signal(2)
        assert watching.wait(10) == 0
    os.close(ours)
    assert seen.count("nvidia-h200") >= 2
