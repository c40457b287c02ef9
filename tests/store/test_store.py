"""What goes into a store comes out of it, once, and never changes."""

import math
import sqlite3
import subprocess
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autotune_lab.errors import StoreError, UsageError
from autotune_lab.records import (
    Environment,
    Hello,
    Measurement,
    Outcome,
    Phase,
    Protocol,
    Resources,
    Source,
    Telemetry,
    TrialState,
    Work,
)
from autotune_lab.spaces.config import Config
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from tests.store import making
from tests.store.making import (
    A4000,
    MATMUL,
    SPACE,
    TODAY,
    UUID,
    WORK,
    config,
    context,
    failed,
    hello,
    measure,
    measurement,
    ok,
    opened,
    pick,
    query,
    trial,
)

FAILURES = [state for state in TrialState if state.is_failure]


def test_a_trial_comes_back_as_it_was(store):
    run_id, context_id = opened(store)
    outcome = ok(2.5)
    trial_id = measure(store, run_id, context_id, 0, outcome)
    (found,) = store.trials(context_id)
    assert found.id == trial_id
    assert found.config == config(0)
    assert found.state is TrialState.OK
    assert found.measurements == (outcome.measurement,)
    assert found.resources == outcome.resources
    assert found.numerics == outcome.numerics
    assert (found.launches, found.device_uuid, found.attempt) == (23, UUID, 1)
    assert found.screen_ms == 2.5
    assert found.started_at <= found.finished_at


def test_a_context_comes_back_as_it_was(store):
    made = context(environment=replace(TODAY, variables={"TRITON_DEBUG": "1"}))
    opened(store, made)
    assert store.find_context(made.id) == made
    assert str(store.find_context(made.id).problem) == "M=4096,N=4096,K=4096,dtype=bfloat16"
    assert store.find_context("0" * 16) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": Environment(triton="3.9.0")},
        {"protocol": Protocol(cache="hot")},
        {"kernel": replace(MATMUL, code_hash="other")},
        {"model": replace(making.H200, name="NVIDIA H200 NVL")},
        {"model": replace(making.H200, sm_count=16, memory_bytes=18 << 30)},
        {"source": Source.FAKE},
    ],
)
def test_anything_that_matters_to_a_time_opens_another_context(store, changes):
    run_id, one = opened(store)
    _, other = opened(store, context(**changes))
    measure(store, run_id, one, 0)
    assert one != other
    assert store.trials(other) == []


def test_a_context_is_added_once_and_keeps_the_ceilings_that_a_later_worker_does_not_know(
    store, path
):
    _, context_id = opened(store)
    ignorant = Hello(hello().device, TODAY)
    larger = replace(SPACE, size=8)
    assert store.add_context(context(), space=larger, work=Work(), hello=ignorant) == context_id
    store.add_context(context(), space=larger, work=WORK, hello=None)
    rows = query(path, "SELECT copy_gbs, matmul_tflops, space, work_flops FROM contexts")
    assert len(rows) == 1
    assert rows[0][:2] == (4012.5, '{"bfloat16":751.0}')
    assert '"size":8' in rows[0][2]
    assert rows[0][3] == WORK.flops
    assert query(path, "SELECT uuid FROM devices") == [(UUID,)]


def test_a_moved_kernel_file_is_the_same_kernel_found_elsewhere(store):
    opened(store)
    moved = context(kernel=replace(MATMUL, reference="elsewhere/matmul.py"))
    opened(store, moved)
    (found,) = store.contexts()
    assert found.kernel.reference == "elsewhere/matmul.py"


def test_a_config_is_claimed_once_however_it_is_written(store):
    run_id, context_id = opened(store)
    assert store.claim(run_id, context_id, Config(A=1, B=2), 0) is not None
    assert store.claim(run_id, context_id, Config(B=np.int64(2), A=1.0), 1) is None
    assert store.claim(run_id, context_id, Config(A=True, B=2), 2) is not None


def test_a_claim_for_an_unknown_run_or_context_is_refused(store):
    run_id, context_id = opened(store)
    with pytest.raises(UsageError, match="has no run 99"):
        store.claim(99, context_id, config(0), 0)
    with pytest.raises(UsageError, match="or no context"):
        store.claim(run_id, "0" * 16, config(0), 0)
    assert store.trials(context_id) == []


def test_a_finished_trial_never_changes(store, path):
    run_id, context_id = opened(store)
    trial_id = measure(store, run_id, context_id, 0)
    before = query(path, "SELECT * FROM trials"), query(path, "SELECT * FROM measurements")
    with pytest.raises(StoreError, match=f"trial {trial_id}: is finished as ok"):
        store.finish(trial_id, ok(0.1), UUID)
    with pytest.raises(StoreError, match="trial 77: is not in the store"):
        store.finish(77, ok(0.1), UUID)
    store.sweep_interrupted()
    store.end_run(run_id, "done")
    assert store.record(context_id, trial(0, 0.1)) is None
    assert before == (
        query(path, "SELECT * FROM trials"),
        query(path, "SELECT * FROM measurements"),
    )


@pytest.mark.parametrize("state", FAILURES)
def test_a_failure_carries_its_reason_and_no_number(store, path, state):
    run_id, context_id = opened(store)
    outcome = replace(failed(state), measurement=measurement(0.5), elapsed_ms=12.0)
    measure(store, run_id, context_id, 0, outcome)
    (found,) = store.trials(context_id)
    assert (found.state, found.reason) == (state, "it failed")
    assert found.detail.endswith("second line")
    assert found.measurements == ()
    numbers = "typeof(time_ms), typeof(low_ms), typeof(high_ms), samples, is_eligible"
    assert query(path, f"SELECT {numbers} FROM trials") == [("null", "null", "null", 0, 0)]


@pytest.mark.parametrize("text", ["a\x00b", "a\udce9b", "\x1b[31mred\r\n", "図" * 10_000])
def test_whatever_a_dying_process_printed_is_kept_as_far_as_text_can(store, text):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0, replace(failed(TrialState.CRASHED), detail=text))
    (found,) = store.trials(context_id)
    assert len(found.detail) == len(text)
    assert "\x00" not in found.detail


BAD_TIMES = [math.nan, math.inf, -math.inf, 0.0, -1.0, None, 1e-12, "3.0", 1e300, True]


@pytest.mark.parametrize("bad", BAD_TIMES, ids=str)
@pytest.mark.parametrize("where", ["median", "sample"])
def test_what_is_no_time_is_bad_timing_and_kept_as_text(store, path, bad, where):
    run_id, context_id = opened(store)
    times = {"median_ms": bad} if where == "median" else {"samples_ms": (1.0, bad, 1.0)}
    outcome = Outcome(TrialState.OK, measurement=measurement(**times))
    measure(store, run_id, context_id, 0, outcome)
    measure(store, run_id, context_id, 1, ok(2.0))
    found, good = store.trials(context_id)
    assert (found.state, found.raw_time) == (TrialState.BAD_TIMING, str(bad))
    assert str(bad) in found.reason
    assert found.screen_ms is None
    assert good.screen_ms == 2.0
    assert query(path, "SELECT time_ms FROM trials ORDER BY time_ms IS NULL, time_ms") == [
        (2.0,),
        (None,),
    ]


def test_a_correct_run_without_a_time_is_bad_timing(store):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0, Outcome(TrialState.OK))
    (found,) = store.trials(context_id)
    assert (found.state, found.raw_time) == (TrialState.BAD_TIMING, "None")


def test_the_schema_itself_refuses_a_time_that_is_none(path, store):
    run_id, context_id = opened(store)
    trial_id = measure(store, run_id, context_id, 0)
    for value in ("-1.0", "0.0", "9e999"):
        with (
            sqlite3.connect(path) as connection,
            pytest.raises(sqlite3.IntegrityError, match="time_is_a_time"),
        ):
            connection.execute(f"UPDATE trials SET time_ms = {value} WHERE id = {trial_id}")
        connection.close()


def test_one_sample_gives_a_number_and_a_spread_that_is_null_not_nan(store, path):
    run_id, context_id = opened(store)
    lone = Measurement(Phase.SCREEN, (1.5,), 1.5, low_ms=math.nan, high_ms=math.nan)
    measure(store, run_id, context_id, 0, Outcome(TrialState.OK, measurement=lone))
    assert query(path, "SELECT time_ms, low_ms, high_ms FROM trials") == [(1.5, None, None)]


def test_a_pruned_trial_keeps_its_samples_but_has_no_time(store, path):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0, replace(ok(9.0), state=TrialState.PRUNED))
    (found,) = store.trials(context_id)
    assert found.measurements[0].median_ms == 9.0
    assert query(path, "SELECT time_ms FROM trials") == [(None,)]


def test_numbers_of_any_library_become_integers_and_reals(store, path):
    run_id, context_id = opened(store)
    odd = Outcome(
        TrialState.OK,
        measurement=Measurement(
            Phase.SCREEN,
            tuple(np.float32([1.25, 1.5])),
            np.float32(1.375),
            seed=np.int64(7),
            round=np.int32(0),
            telemetry=Telemetry(sm_clock_mhz=np.uint32(1980), power_w=np.float32(500)),
        ),
        resources=Resources(shared_bytes=np.int64(128), registers=np.uint8(255)),
        launches=np.int64(3),
    )
    trial_id = store.claim(run_id, context_id, Config(BLOCK_M=np.int64(128)), np.int64(4))
    store.finish(trial_id, odd, UUID)
    columns = "typeof(shared_bytes), typeof(registers), typeof(number), typeof(launches)"
    assert query(path, f"SELECT {columns} FROM trials") == [("integer",) * 4]
    assert query(path, "SELECT id FROM trials WHERE shared_bytes = 128") == [(trial_id,)]
    assert query(path, "SELECT typeof(time_ms), config FROM trials") == [
        ("real", '{"BLOCK_M":128}')
    ]
    columns = "typeof(seed), typeof(sm_clock_mhz), typeof(power_w)"
    assert query(path, f"SELECT {columns} FROM measurements") == [("integer", "integer", "real")]
    (found,) = store.trials(context_id)
    assert type(found.config["BLOCK_M"]) is int
    assert found.measurements[0].samples_ms == (1.25, 1.5)


values = (
    st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.booleans()
    | st.none()
    | st.tuples(st.integers(0, 9), st.text(max_size=3))
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(
    parameters=st.dictionaries(st.from_regex(r"[A-Z][A-Z_]{0,6}", fullmatch=True), values),
    samples=st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=9),
    number=st.integers(0, 2**31 - 1),
)
def test_any_config_and_any_samples_survive(store, parameters, samples, number):
    fresh = context(kernel=replace(MATMUL, code_hash=uuid.uuid4().hex))
    run_id, context_id = opened(store, fresh)
    taken = measurement(samples_ms=tuple(samples), median_ms=samples[0])
    trial_id = store.claim(run_id, context_id, Config(parameters), number)
    store.finish(trial_id, ok(measurement=taken), UUID)
    (found,) = store.trials(context_id)
    assert found.config == Config(parameters)
    assert dict(found.config) == dict(Config(parameters))
    assert found.measurements == (taken,)
    assert found.number == number


def test_playoff_measurements_join_their_trial_and_leave_its_row_alone(store, path):
    run_id, context_id = opened(store)
    trial_id = measure(store, run_id, context_id, 0)
    before = query(path, "SELECT * FROM trials")
    rounds = [measurement(1.1 + n, phase=Phase.PLAYOFF, round=n) for n in (1, 2)]
    for taken in rounds:
        store.add_measurement(trial_id, taken)
    (found,) = store.trials(context_id)
    assert list(found.measurements[1:]) == rounds
    assert query(path, "SELECT * FROM trials") == before


def test_a_measurement_that_is_none_or_of_a_failure_is_refused(store):
    run_id, context_id = opened(store)
    good = measure(store, run_id, context_id, 0)
    wrong = measure(store, run_id, context_id, 1, failed(TrialState.WRONG_RESULT))
    with pytest.raises(UsageError, match="nan is not a time"):
        store.add_measurement(good, measurement(math.nan, phase=Phase.PLAYOFF))
    with pytest.raises(UsageError, match="is wrong_result, not ok"):
        store.add_measurement(wrong, measurement(phase=Phase.PLAYOFF))
    with pytest.raises(UsageError, match="not in the store"):
        store.add_measurement(999, measurement(phase=Phase.PLAYOFF))


def test_recording_a_batch_takes_all_that_is_new(store):
    _, context_id = opened(store)
    batch = [trial(n, 1.0 + n) for n in range(1200)]
    assert store.record_all(context_id, batch[:600]) == list(range(1, 601))
    again = store.record_all(context_id, batch)
    assert again[:600] == [None] * 600
    assert again[600:] == list(range(601, 1201))
    found = store.trials(context_id)
    assert [replace(entry, id=None) for entry in found] == batch


def test_recording_judges_times_as_finishing_does(store):
    _, context_id = opened(store)
    store.record(context_id, trial(0, -1.0))
    store.record(context_id, trial(1, state=TrialState.TIMEOUT))
    bad, late = store.trials(context_id)
    assert (bad.state, bad.raw_time, bad.measurements) == (TrialState.BAD_TIMING, "-1.0", ())
    assert (late.state, late.measurements) == (TrialState.TIMEOUT, ())


def test_a_batch_with_a_foreign_or_running_trial_is_refused_as_a_whole(store):
    _, context_id = opened(store)
    foreign = trial(1, of=context(model=A4000))
    for odd in (foreign, trial(1, state=TrialState.RUNNING)):
        with pytest.raises(UsageError, match="can't be recorded"):
            store.record_all(context_id, [trial(0), odd])
    assert store.trials(context_id) == []


def test_trials_are_read_by_state(store):
    run_id, context_id = opened(store)
    measure(store, run_id, context_id, 0)
    measure(store, run_id, context_id, 1, failed(TrialState.CRASHED))
    (found,) = store.trials(context_id, states=[TrialState.CRASHED])
    assert found.config == config(1)
    assert store.trials(context_id, states=[]) == []


DIES_IN_A_TRIAL = """
import os, sys
from autotune_lab.store.store import Store
from tests.store import making

store = Store.open(sys.argv[1])
run_id, context_id = making.opened(store)
making.measure(store, run_id, context_id, 0)
store.claim(run_id, context_id, making.config(1), 1)
os._exit(7)
"""


def test_trials_of_a_dead_process_are_interrupted_and_tried_again(store, path):
    died = subprocess.run([sys.executable, "-c", DIES_IN_A_TRIAL, str(path)], check=False)
    assert died.returncode == 7
    run_id, context_id = opened(store)
    assert store.claim(run_id, context_id, config(1), 1) is None
    assert store.sweep_interrupted() == 1
    assert store.sweep_interrupted() == 0
    assert store.claim(run_id, context_id, config(0), 0) is None
    again = store.claim(run_id, context_id, config(1), 1)
    store.finish(again, ok(2.0), UUID)
    states = [(entry.state, entry.attempt) for entry in store.trials(context_id)]
    assert states == [
        (TrialState.OK, 1),
        (TrialState.INTERRUPTED, 1),
        (TrialState.OK, 2),
    ]


def test_running_trials_of_this_process_are_left_alone(store):
    run_id, context_id = opened(store)
    store.claim(run_id, context_id, config(0), 0)
    assert store.sweep_interrupted() == 0
    (found,) = store.trials(context_id)
    assert found.state is TrialState.RUNNING


def test_ending_a_run_leaves_nothing_running(store):
    run_id, context_id = opened(store)
    store.claim(run_id, context_id, config(0), 0)
    store.end_run(run_id, "interrupted")
    (found,) = store.trials(context_id)
    assert found.state is TrialState.INTERRUPTED
    assert store.studies()[0].state == "interrupted"


@pytest.mark.parametrize(("age_s", "swept"), [(60, 0), (660, 1)])
def test_a_run_on_another_host_is_dead_after_ten_silent_minutes(store, path, age_s, swept):
    run_id, context_id = opened(store)
    store.claim(run_id, context_id, config(0), 0)
    heard = (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET host = 'elsewhere', heartbeat_at = ?", [heard])
    connection.close()
    assert store.sweep_interrupted() == swept
    store.heartbeat(run_id)
    assert store.sweep_interrupted() == 0


def test_a_run_that_was_given_up_too_early_takes_its_trial_back(store, path):
    run_id, context_id = opened(store)
    slow = store.claim(run_id, context_id, config(0), 0)
    store.end_run(run_id, "interrupted")
    store.finish(slow, ok(3.0), UUID)
    (found,) = store.trials(context_id)
    assert (found.state, found.screen_ms) == (TrialState.OK, 3.0)


def test_an_outcome_that_another_run_has_overtaken_is_dropped_with_a_warning(store, caplog):
    run_id, context_id = opened(store)
    slow = store.claim(run_id, context_id, config(0), 0)
    store.end_run(run_id, "interrupted")
    other, _ = opened(store)
    measure(store, other, context_id, 0, ok(2.0))
    store.finish(slow, ok(3.0), UUID)
    assert "claimed by another run since" in caplog.text
    states = [(entry.state, entry.screen_ms) for entry in store.trials(context_id)]
    assert states == [(TrialState.INTERRUPTED, None), (TrialState.OK, 2.0)]


def test_running_is_no_outcome(store):
    run_id, context_id = opened(store)
    trial_id = store.claim(run_id, context_id, config(0), 0)
    with pytest.raises(UsageError, match="'running' is not an outcome"):
        store.finish(trial_id, Outcome(TrialState.RUNNING), UUID)


def test_studies_are_listed_by_last_activity_with_counts(store):
    first, context_id = opened(store)
    measure(store, first, context_id, 0)
    measure(store, first, context_id, 1, failed(TrialState.TIMEOUT))
    store.end_run(first, "done")
    second = store.begin_run("another", {"seeds": [1, 2]})
    assert [study.name for study in store.studies()] == ["another", "a study"]
    running, done = store.studies()
    assert (running.state, done.state) == ("running", "done")
    assert running.plan == {"seeds": [1, 2]}
    assert done.trials == {TrialState.OK: 1, TrialState.TIMEOUT: 1}
    store.end_run(second, "done")
    store.begin_run("a study", {"trials": 80})
    (again, _) = store.studies()
    assert (again.name, again.runs, again.plan) == ("a study", 2, {"trials": 80})


def test_a_pick_comes_back_as_it_was(store):
    opened(store)
    store.add_pick(pick())
    assert store.picks() == [pick()]


def test_the_last_pick_of_a_context_stands_and_all_are_kept(store):
    opened(store)
    opened(store, context(model=A4000))
    later = pick(config=config(2), picked_at="2026-01-03T00:00:00+00:00")
    elsewhere = pick(of=context(model=A4000))
    for made in (later, pick(), elsewhere):
        store.add_pick(made)
    assert store.picks() == [later, elsewhere]
    assert len(store.picks(latest=False)) == 3
    assert store.picks(model="nvidia-rtx-a4000") == [elsewhere]
    assert store.picks(model=A4000.id) == [elsewhere]
    assert store.picks(kernel="softmax") == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_pick_of_a_search_that_was_cut_short_loses_to_a_fuller_one(store, order):
    opened(store)
    full = pick(picked_at="2026-01-02T00:00:00+00:00")
    partial = pick(config=config(2), flags=("partial",), picked_at="2026-01-03T00:00:00+00:00")
    for position in order:
        store.add_pick((full, partial)[position])
    assert store.picks() == [full]


def test_contexts_are_found_by_any_filter(store):
    opened(store)
    opened(store, context(source=Source.INTERPRETER))
    assert len(store.contexts()) == 2
    assert [found.source for found in store.contexts(Query(kernel="matmul"))] == [Source.GPU]
    reordered = "dtype=bfloat16,K=4096,M=4096,N=4096"
    assert store.contexts(Query(problem=reordered)) == [context()]
    assert store.contexts(Query(problem="M=1")) == []
    assert store.contexts(Query(device_model="NVIDIA H200")) == [context()]
    assert store.contexts(Query(device_model="nvidia-h200-nvl")) == []


def test_a_store_in_memory_works():
    with Store.open("sqlite://") as store:
        run_id, context_id = opened(store)
        measure(store, run_id, context_id, 0)
        assert len(store.trials(context_id)) == 1
        assert store.url_display == "sqlite in memory"
