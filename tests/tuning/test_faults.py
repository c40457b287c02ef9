"""A config that crashes, hangs, lies or gives a nonsense time costs one row, and never wins."""

import json
import math
import sqlite3
import time
from collections import Counter
from itertools import permutations

import optuna
import pandas as pd
import pytest

from autotune_lab.analysis import winners
from autotune_lab.errors import ExportError, NoSurvivor
from autotune_lab.exporting.base import Options
from autotune_lab.exporting.writing import export
from autotune_lab.records import Limits, Outcome, Phase, Protocol, Source, TrialState
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.tuning.events import Notice

pytestmark = pytest.mark.slow

SIMULATED = Query(include_simulated=True)
RIGHT = "args['out'].copy_(args['x'] + 1)\n"

CRASHING = (
    RIGHT
    + """\
i = config['i']
(Path(__file__).parent / 'pids').open('a').write(f'{os.getpid()}\\n')
if i == 3:
    print('giving up in 3', file=sys.stderr, flush=True)
    os.abort()
if i == 5:
    print('leaving in 5', file=sys.stderr, flush=True)
    os._exit(7)
if i == 8:
    print('falling in 8', file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
return {1: 1.5, 2: 1.75, 4: 1.25, 6: 1.0, 7: 1.125}[i]
"""
)
IMPORTS = "import itertools, os, signal, sys, time\nfrom pathlib import Path\nimport torch\n"


def test_configs_that_kill_their_process_cost_a_row_each(lab):
    lab.write(space="Space(i=range(1, 9))", launch=CRASHING, helpers=IMPORTS)
    lab.run("fake", samplers=["exhaustive"], phases=[Phase.SCREEN])
    workers = set((lab.root / "search_spaces/pids").read_text().split())
    assert len(workers) == 3  # none is started after the last config
    done = lab.call("tune", lab.reference, "--device", "fake", "--sampler", "exhaustive")
    assert done.returncode == 0, done.stderr
    by = lab.by("i")
    assert [by[i].state.value for i in range(1, 9)] == [
        "ok", "ok", "crashed", "ok", "crashed", "ok", "ok", "crashed",
    ]  # fmt: skip
    assert "SIGABRT" in by[3].reason
    assert "7" in by[5].reason
    assert "SIGSEGV" in by[8].reason
    for i, line in ((3, "giving up in 3"), (5, "leaving in 5"), (8, "falling in 8")):
        assert line in by[i].detail
        assert by[i].screen_ms is None
    times = {i: by[i].screen_ms for i in (1, 2, 4, 6, 7)}
    assert times == {1: 1.5, 2: 1.75, 4: 1.25, 6: 1.0, 7: 1.125}
    with lab.store() as store:
        assert store.picks()[0].config["i"] == 6


def test_a_crash_on_a_late_launch_is_a_crash_with_its_launches_counted(lab):
    launch = RIGHT + "if config['i'] == 1 and next(calls) == 4:\n    os.abort()\nreturn 1.0"
    lab.write(space="Space(i=[0, 1])", launch=launch, helpers=IMPORTS + "calls = itertools.count()")
    lab.run("fake", samplers=["exhaustive"])
    crashed = lab.by("i")[1]
    assert crashed.state is TrialState.CRASHED
    assert crashed.launches == 4  # and call 0 was the untimed one
    assert crashed.attempt == 1


WRONG = """\
mode, x, out = config['mode'], args['x'], args['out']
out.copy_(x + 1)
if mode == 'B':
    out += 0.1
elif mode == 'C':
    out.fill_(float('nan'))
elif mode == 'D' and next(calls):
    out += 1.0
elif mode == 'E':
    out.fill_(1.5)
elif mode == 'F':
    out += 1e-6 * next(calls)
return {'A': 3.0, 'B': 1.0, 'C': 0.9, 'D': 0.8, 'E': 0.7, 'F': 0.6}[mode]
"""
SWITCHES = 'Space(mode=["B", "A", "C", "D", "E", "F"])'


def test_a_fast_wrong_config_never_wins_and_stays_visible(lab):
    lab.write(space=SWITCHES, launch=WRONG, helpers=IMPORTS + "calls = itertools.count()")
    result = lab.run("fake", samplers=["exhaustive"])
    by = lab.by("mode")
    assert {mode: trial.state.value for mode, trial in by.items()} == {
        "A": "ok", "B": "wrong_result", "C": "wrong_result", "D": "wrong_result",
        "E": "wrong_result", "F": "unstable",
    }  # fmt: skip
    assert by["B"].numerics.max_absolute_error == pytest.approx(0.1, abs=1e-5)
    assert by["B"].numerics.max_relative_error > 0
    assert "1e-05 allowed" in by["B"].reason
    assert by["D"].launches > 0  # its first launch was right
    assert by["B"].launches == 0  # this one was never timed
    (pick,) = result.picks
    assert pick.config["mode"] == "A"
    assert "no_competition" in pick.flags
    with lab.store() as store:
        chosen = winners.best(store, SIMULATED)
    with pytest.raises(ExportError, match="refused, fake timer"):
        export(chosen, "json", lab.root / "out")
    (path,) = export(chosen, "json", lab.root / "out", options=Options(include_simulated=True))
    (entry,) = json.loads(path.read_text())["entries"]
    assert entry["config"] == {"mode": "A"}


def test_the_winner_is_verified_again_in_a_process_that_ran_nothing_else(lab):
    """It is right in the process that screened it, and wrong in every later one."""
    launch = """\
marker = Path(__file__).parent / 'first'
if not marker.exists():
    marker.write_text(str(os.getpid()))
is_first = marker.read_text() == str(os.getpid())
args['out'].copy_(args['x'] + (1 if is_first or config['i'] else 2))
return 1.0 + config['i']
"""
    lab.write(space="Space(i=[0, 1])", launch=launch, helpers=IMPORTS)
    result = lab.run("fake", samplers=["exhaustive"])
    by = lab.by("i")
    assert by[0].state is TrialState.WRONG_RESULT
    assert result.picks[0].config["i"] == 1
    assert any("fell out of the playoff" in e.text for e in lab.events if isinstance(e, Notice))


def test_a_run_beyond_its_limit_ends_before_the_next_begins(lab):
    launch = (
        RIGHT
        + """\
stamps = (Path(__file__).parent / 'stamps').open('a')
i = config['i']
print(i, 'start', time.time(), file=stamps, flush=True)
time.sleep({1: 30.0, 2: 0.02}.get(i, 0.0))
print(i, 'end', time.time(), file=stamps, flush=True)
return 1.0
"""
    )
    lab.write(space="Space(i=[0, 1, 2])", launch=launch, helpers=IMPORTS)
    began = time.monotonic()
    lab.run("fake", samplers=["exhaustive"], limits=Limits(run_s=1.0), phases=[Phase.SCREEN])
    assert time.monotonic() - began < 1.0 + 10.0 + 10.0
    by = lab.by("i")
    assert [by[i].state.value for i in range(3)] == ["ok", "timeout", "ok"]
    assert "1" in by[1].reason
    stamps = [line.split() for line in (lab.root / "search_spaces/stamps").read_text().splitlines()]
    assert [line[1] for line in stamps if line[0] == "1"] == ["start"]
    killed = float(next(line[2] for line in stamps if line[:2] == ["1", "start"])) + 0.5
    assert min(float(line[2]) for line in stamps if line[0] == "2") > killed
    assert by[2].screen_ms == 1.0


def test_the_default_may_be_the_one_that_hangs(lab):
    launch = RIGHT + "time.sleep(30 if config['i'] == 1 else 0)\nreturn 1.0"
    lab.write(space="Space(i=[0, 1])", launch=launch, helpers=IMPORTS, default='{"i": 1}')
    result = lab.run("fake", limits=Limits(run_s=1.0))
    assert lab.by("i")[1].state is TrialState.TIMEOUT
    assert result.picks[0].config["i"] == 0


BAD = ["nan", "inf", "0.0", "-1.0", "None", "1e-12", "three"]
VALUES = """{
    'nan': float('nan'), 'inf': float('inf'), '0.0': 0.0, '-1.0': -1.0, 'None': None,
    '1e-12': 1e-12, 'three': '3.0', 'good': 2.0}"""


@pytest.mark.parametrize("order", [[*BAD, "good"], ["good", *BAD], [*BAD[3:], "good", *BAD[:3]]])
def test_implausible_times_are_never_best_whoever_is_asked(lab, order):
    lab.write(space=f"Space(t={order})", launch=RIGHT + f"return {VALUES}[config['t']]")
    result = lab.run("fake", samplers=["exhaustive"])
    by = lab.by("t")
    assert Counter(trial.state.value for trial in by.values()) == {"ok": 1, "bad_timing": 7}
    raw = {name: by[name].raw_time for name in BAD}
    assert raw == {
        "nan": "nan", "inf": "inf", "0.0": "0.0", "-1.0": "-1.0", "None": "None",
        "1e-12": "1e-12", "three": "3.0",
    }  # fmt: skip
    assert result.picks[0].config["t"] == "good"
    assert everybodys_winner(lab) == ["good"] * 4


def everybodys_winner(lab):
    """The winner by SQL, by pandas, by an Optuna study rebuilt from the frame, by the export."""
    with sqlite3.connect(lab.root / "lab.db") as connection:
        rows = connection.execute("SELECT config, time_ms, typeof(time_ms) FROM trials").fetchall()
        in_sql = connection.execute(
            "SELECT config FROM trials WHERE time_ms IS NOT NULL ORDER BY time_ms LIMIT 1"
        ).fetchone()[0]
    connection.close()
    assert Counter(kind for *_, kind in rows) == {"real": 1, "null": 7}
    assert not any(isinstance(t, float) and math.isnan(t) for _, t, _ in rows)
    with lab.store() as store:
        frame = frames.trials(store, SIMULATED)
        (pick,) = winners.best(store, SIMULATED)
    in_pandas = frame.loc[frame["time_ms"].idxmin(), "config"]["t"]
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study()
    for row in frame.itertuples():
        study.add_trial(
            optuna.trial.create_trial(
                state=optuna.trial.TrialState.COMPLETE
                if pd.notna(row.time_ms)
                else optuna.trial.TrialState.FAIL,
                value=row.time_ms if pd.notna(row.time_ms) else None,
                user_attrs={"t": row.config["t"]},
            )
        )
    assert '"good"' in in_sql
    return ["good", in_pandas, study.best_trial.user_attrs["t"], pick.config["t"]]


@pytest.mark.parametrize("order", list(permutations(["nan", "-0.5", "0.0", "1.0"]))[::4])
def test_no_order_of_bad_times_makes_one_win(lab, order):
    """Recorded times are trusted by nobody either."""
    lab.write(space=f"Space(t={list(order)})")
    device = lab.record(lambda config: bad_or(config["t"]))
    result = lab.run(device, samplers=["exhaustive"])
    assert result.picks[0].config["t"] == "1.0"


def bad_or(text):
    if text == "1.0":
        return 1.0
    return Outcome(TrialState.BAD_TIMING, reason=f"the timer gave {text}", raw_time=text)


@pytest.mark.parametrize(
    ("launch", "state"),
    [
        ("args['out'].fill_(0.0)\nreturn 1.0", "wrong_result"),
        (RIGHT + "return float('inf')", "bad_timing"),
    ],
)
def test_no_survivor_is_an_error_and_leaves_an_older_export_as_it_was(lab, launch, state):
    lab.write(space="Space(i=[0, 1])", launch=launch)
    result = lab.run("fake")
    assert result.picks == ()
    error = result.failures[0].error
    assert isinstance(error, NoSurvivor)
    assert error.counts == {state: 2}
    folder = lab.root / "out"
    folder.mkdir()
    (folder / "old.json").write_text("{}")
    done = lab.call("tune", lab.reference, "--device", "fake")
    assert done.returncode == 1
    assert "no config ran correctly" in done.stderr
    assert f"2 {state}" in done.stderr
    exported = lab.call("export", "--out", "out")
    assert exported.returncode == 1
    assert len(exported.stderr.splitlines()) == 1
    assert [path.name for path in folder.iterdir()] == ["old.json"]
    assert (folder / "old.json").read_text() == "{}"


def test_a_kernel_too_short_to_rank_is_said_to_be_so_and_graph_replay_ranks_it(lab):
    lab.write(
        space="Space(i=[3, 4])", launch=RIGHT + "return config['i'] * 1e-3", problems="Problem(n=1)"
    )
    for timer, device in (("events", "fake:floor_ms=0.03"), ("graph", "fake:fixed_ms=0.006")):
        protocol = Protocol(timer=timer, playoff_rounds=3, max_samples=5)
        (pick,) = lab.run(device, samplers=["exhaustive"], protocol=protocol).picks
        if timer == "events":
            assert "below_launch_floor" in pick.flags
            assert len(pick.tied) == 2
        else:
            assert pick.config["i"] == 3
            assert pick.median_ms == pytest.approx(3e-3, rel=0.011)
            assert "below_launch_floor" not in pick.flags
    with lab.store() as store:
        contexts = store.contexts(SIMULATED)
    assert len(contexts) == 2  # two methods are never ranked together
    assert {context.source for context in contexts} == {Source.FAKE}
