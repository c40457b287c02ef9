"""A study that is killed at any moment goes on where it was, and measures nothing twice."""

import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from autotune_lab.records import Protocol
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.tuning.running import run_study
from autotune_lab.tuning.study import Study

pytestmark = pytest.mark.slow

SPACE = "Space(i=range({n}))"
HELPERS = "import os, time\nfrom pathlib import Path\n"
# Config 17 of the grid, the 18th, waits for ever the first time it is launched.
WAITING = """\
args['out'].copy_(args['x'] + 1)
marker = Path(__file__).parent / f"at_{config['i']}"
if config['i'] == 17 and not marker.exists():
    marker.write_text(str(os.getpid()))
    time.sleep(60)
return 1.0 + (config['i'] * 7) % 40 / 40
"""
QUICK = """\
args['out'].copy_(args['x'] + 1)
time.sleep(0.01)
return 1.0 + (config['i'] * 7) % 40 / 40
"""


def start(lab, *options, device="fake"):
    return lab.start("tune", lab.reference, "--device", device, "--sampler", "exhaustive", *options)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def rows(lab, where="1"):
    """What the store file itself holds, every column of it."""
    with closing(sqlite3.connect(f"file:{lab.root}/lab.db?mode=ro", uri=True)) as connection:
        connection.execute("PRAGMA busy_timeout = 30000")
        trials = connection.execute(f"SELECT * FROM trials WHERE {where} ORDER BY id").fetchall()
        ids = ",".join(str(row[0]) for row in trials)
        of = f"phase = 'screen' AND trial_id IN ({ids})"
        measured = connection.execute(
            f"SELECT * FROM measurements WHERE {of} ORDER BY id"
        ).fetchall()
    return trials, measured


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def winner(lab):
    with lab.store() as store:
        (pick,) = store.picks()
        return pick.config, pick.median_ms


def states(lab):
    return Counter(trial.state.value for trial in lab.trials())


def reach_the_18th(lab, *options):
    """Start a study of 40 configs and wait until 17 are stored and the 18th runs."""
    lab.write(space=SPACE.format(n=40), launch=WAITING, helpers=HELPERS)
    process = start(lab, *options)
    marker = lab.root / "search_spaces/at_17"
    wait_for(lambda: marker.exists() and marker.read_text())
    return process, int(marker.read_text())


def test_kill_9_loses_only_the_config_in_flight(lab):
    process, worker = reach_the_18th(lab)
    process.kill()
    process.communicate()
    wait_for(lambda: not is_alive(worker), seconds=5.0)
    finished = "finished_at != ''"
    before = rows(lab, finished)
    assert len(before[0]) == 17
    resumed = lab.call("tune", lab.reference, "--device", "fake", "--sampler", "exhaustive")
    assert resumed.returncode == 0, resumed.stderr
    assert "1 trials of runs that died are marked interrupted" in resumed.stderr
    ids = ",".join(str(row[0]) for row in before[0])
    assert rows(lab, f"id IN ({ids})") == before
    assert states(lab) == {"ok": 40, "interrupted": 1}
    again = [trial for trial in lab.trials() if trial.config["i"] == 17]
    assert [(t.attempt, t.state.value) for t in again] == [(1, "interrupted"), (2, "ok")]
    resumed_winner = winner(lab)
    for path in lab.root.glob("lab.db*"):
        path.unlink()
    assert (
        lab.call("tune", lab.reference, "--device", "fake", "--sampler", "exhaustive").returncode
        == 0
    )
    assert winner(lab) == resumed_winner


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_within_seconds_and_can_be_resumed(lab, number):
    process, worker = reach_the_18th(lab)
    bystander = subprocess.Popen(["sleep", "60"])
    began = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=5)
    assert time.monotonic() - began < 5
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    assert not is_alive(worker)
    assert is_alive(bystander.pid)
    bystander.kill()
    bystander.wait()
    assert states(lab) == {"ok": 17, "interrupted": 1}
    assert (
        lab.call("tune", lab.reference, "--device", "fake", "--sampler", "exhaustive").returncode
        == 0
    )
    assert states(lab) == {"ok": 40, "interrupted": 1}


def test_five_configs_killed_after_the_first_leave_one_row(lab):
    lab.write(
        space=SPACE.format(n=5), helpers=HELPERS,
        launch=WAITING.replace("== 17", "== 1"),
    )  # fmt: skip
    process = start(lab)
    wait_for((lab.root / "search_spaces/at_1").exists)
    process.kill()
    process.communicate()
    assert len(rows(lab, "finished_at != ''")[0]) == 1


def test_a_kill_between_result_and_commit_costs_that_result_only(lab):
    """The process dies in ``finish``, with the outcome in its hands."""
    lab.write(space=SPACE.format(n=6))
    device = lab.record(lambda config: 1.0 + config["i"] / 10)
    code = (
        "import os, sys\n"
        "from autotune_lab.store.store import Store\n"
        "from autotune_lab.cli.app import main\n"
        "real = Store.finish\n"
        "def finish(self, trial_id, outcome, uuid):\n"
        "    if trial_id == 4: os.kill(os.getpid(), 9)\n"
        "    real(self, trial_id, outcome, uuid)\n"
        "Store.finish = finish\n"
        "main()\n"
    )
    arguments = ["tune", lab.reference, "--device", device, "--sampler", "exhaustive"]
    command = [*lab.command()[:1], "-c", code, *arguments]
    died = subprocess.run(command, cwd=lab.root, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL
    assert len(rows(lab, "finished_at != ''")[0]) == 3
    assert lab.call(*arguments).returncode == 0
    assert states(lab) == {"ok": 6, "interrupted": 1}


def test_an_exception_ends_the_run_without_a_heartbeat_to_wait_for(lab):
    lab.write(space=SPACE.format(n=6))
    device = lab.record(lambda config: 1.0 + config["i"] / 10)

    def fail(event):
        lab.events.append(event)
        if len(lab.events) == 4:
            raise RuntimeError("the observer broke")

    study = Study(
        kernels=[lab.reference], devices=[device], samplers=["exhaustive"],
        protocol=Protocol(playoff_rounds=3, max_samples=5),
    )  # fmt: skip
    with lab.store() as store, pytest.raises(RuntimeError, match="the observer broke"):
        run_study(study, store, root=lab.root, observe=fail)
    with lab.store() as store:
        assert store.studies()[0].state == "failed"
    lab.run(device, samplers=["exhaustive"])
    assert states(lab)["ok"] == 6
    assert set(states(lab)) <= {"ok", "interrupted"}


def test_20_kills_at_random_moments_lose_nothing_and_repeat_nothing(lab):
    lab.write(space=SPACE.format(n=2000))
    device = lab.record(lambda config: 1.0 + (config["i"] * 7) % 1999 / 1999)
    random_moment = random.Random(20)
    known: dict[int, tuple] = {}
    for _ in range(20):
        process = start(lab, device=device)
        wait_for((lab.root / "lab.db").exists)
        time.sleep(random_moment.uniform(0.3, 2.2))
        process.kill()
        process.communicate()
        now = {}
        if _has_trials(lab):
            now = {row[0]: row for row in rows(lab, "finished_at != ''")[0]}
        assert {i: now[i] for i in known} == known
        known = now
    assert lab.call("store", "check").returncode == 0
    done = lab.call("tune", lab.reference, "--device", device, "--sampler", "exhaustive")
    assert done.returncode == 0, done.stderr
    with lab.store() as store:
        frame = frames.trials(store, Query(include_simulated=True))
    live = frame[frame["state"] != "interrupted"]
    assert len(live) == live["config_id"].nunique() == 2000
    assert known


def test_the_same_seed_goes_on_after_a_kill_without_a_repeat(lab):
    lab.write(space=SPACE.format(n=60), launch=QUICK, helpers=HELPERS)
    options = ["tune", lab.reference, "--device", "fake", "--sampler", "random", "--seed", "3"]
    process = lab.start(*options, "--trials", "40")
    wait_for(
        lambda: (
            (lab.root / "lab.db").exists()
            and _has_trials(lab)
            and len(rows(lab, "finished_at != ''")[0]) >= 5
        )
    )
    process.kill()
    process.communicate()
    assert lab.call(*options, "--trials", "40").returncode == 0
    trials = [trial for trial in lab.trials() if trial.state.value != "interrupted"]
    assert len(trials) == len({trial.config for trial in trials}) == 40


def _has_trials(lab):
    with closing(sqlite3.connect(f"file:{lab.root}/lab.db?mode=ro", uri=True)) as connection:
        return connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'trials'"
        ).fetchone()[0]
