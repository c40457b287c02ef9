"""Many processes, one store; and processes that die at the worst moment."""

import signal
import subprocess
import sys
import time

import pytest

from autotune_lab.records import TrialState
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from tests.store.making import config, context, measure, ok, opened, query

CONTEXT = context().id


def start(path, *numbers):
    command = [sys.executable, "-m", "tests.store.a_writer", f"sqlite:///{path}"]
    child = subprocess.Popen(
        [*command, *map(str, numbers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "ready\n", child.stderr.read()
    return child


def let_go(child):
    child.stdin.write("go\n")
    child.stdin.flush()


def finish(child):
    stdout, stderr = child.communicate(timeout=60)
    return child.returncode, [int(line) for line in stdout.split()], stderr


def test_eight_processes_make_one_store_and_lose_nothing(path):
    children = [start(path, 25 * position, 25) for position in range(8)]
    for child in children:
        let_go(child)
    longest_s = read_while_running(path, children)
    ends = [finish(child) for child in children]
    assert [(code, stderr) for code, _, stderr in ends] == [(0, "")] * 8
    assert sorted(number for _, numbers, _ in ends for number in numbers) == list(range(200))
    assert query(path, "SELECT COUNT(*), COUNT(DISTINCT config_id) FROM trials") == [(200, 200)]
    assert query(path, "SELECT COUNT(*) FROM measurements") == [(200,)]
    assert query(path, "SELECT DISTINCT state FROM runs") == [("done",)]
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert longest_s < 30.0


def read_while_running(path, children):
    """Read as a report does until all writers have ended; return the longest read in seconds."""
    while not path.exists() or not query(path, "SELECT 1 FROM sqlite_master WHERE name = 'picks'"):
        time.sleep(0.01)
    longest_s, seen = 0.0, 0
    with Store.open(str(path), create=False) as store:
        while any(child.poll() is None for child in children):
            began = time.monotonic()
            found = frames.trials(store, Query())
            longest_s = max(longest_s, time.monotonic() - began)
            assert len(found) >= seen
            seen = len(found)
            time.sleep(0.02)
    return longest_s


def test_processes_that_want_the_same_configs_share_them_out(path):
    children = [start(path, 0, 25) for _ in range(2)]
    for child in children:
        let_go(child)
    measured = [number for child in children for number in finish(child)[1]]
    assert sorted(measured) == list(range(25))


def test_a_kill_between_result_and_commit_costs_that_trial_only(path, tmp_path):
    child = start(path, 0, 40, 17)
    let_go(child)
    code, stored, _ = finish(child)
    assert (code, stored) == (-signal.SIGKILL, list(range(17)))
    everything = "SELECT * FROM trials WHERE number < 17 ORDER BY id"
    raw = "SELECT * FROM measurements WHERE trial_id IN (SELECT id FROM trials WHERE number < 17)"
    before = query(path, everything), query(path, raw)
    with Store.open(str(path)) as store:
        run_id, context_id = opened(store)
        assert store.sweep_interrupted() == 1
        again = []
        for number in range(40):
            trial_id = store.claim(run_id, context_id, config(number), number)
            if trial_id is not None:
                again.append(number)
                store.finish(trial_id, ok(1.0 + number), "GPU-0")
        assert again == list(range(17, 40))
        ended = [(t.number, t.attempt, t.state) for t in store.trials(context_id)]
        fastest = min(store.trials(context_id, states=[TrialState.OK]), key=lambda t: t.screen_ms)
    assert (query(path, everything), query(path, raw)) == before
    assert ended.count((17, 1, TrialState.INTERRUPTED)) == 1
    assert ended.count((17, 2, TrialState.OK)) == 1
    assert len(ended) == 41
    assert fastest.config == config(0)


@pytest.mark.parametrize("delay_s", [0.02, 0.11, 0.19])
def test_what_was_reported_done_survives_a_kill_at_any_moment(path, delay_s):
    child = start(path, 0, 5000)
    let_go(child)
    first = child.stdout.readline()
    time.sleep(delay_s)
    child.kill()
    done = {int(line) for line in (first, *child.stdout)}
    finish(child)
    with Store.open(str(path)) as store:
        store.sweep_interrupted()
        stored = [t.number for t in store.trials(CONTEXT, states=[TrialState.OK])]
        left = store.trials(CONTEXT, states=[TrialState.INTERRUPTED])
    assert done <= set(stored)
    assert len(stored) == len(set(stored)) <= len(done) + 1
    assert len(left) <= 1
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_one_finished_trial_is_kept_when_the_second_is_killed(path):
    child = start(path, 0, 5, 1)
    let_go(child)
    assert finish(child)[1] == [0]
    with Store.open(str(path)) as store:
        assert [t.number for t in store.trials(CONTEXT, states=[TrialState.OK])] == [0]


HOLDS_THE_LOCK = """
import sys
from autotune_lab.store.store import Store

with Store.open(sys.argv[1]).writing() as connection:
    connection.exec_driver_sql("UPDATE runs SET state = 'never'")
    print("holding", flush=True)
    sys.stdin.readline()
"""


def test_a_killed_writer_does_not_block_the_others(store, path):
    run_id, context_id = opened(store)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_THE_LOCK, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "holding\n"
    assert store.trials(context_id) == []
    holder.kill()
    holder.communicate()
    measure(store, run_id, context_id, 0)
    assert [study.state for study in store.studies()] == ["running"]
