"""Frames hold what the store holds, typed so that a table prints what was declared."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from autotune_lab.definitions import Problem
from autotune_lab.records import Phase, Resources, Source, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from tests.store.making import (
    A4000,
    MATMUL,
    SPACE,
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

STRINGS = ["study", "context_id", "kernel", "problem", "device_model", "state", "config_id"]


@pytest.fixture
def filled(store):
    """Two device models; on the first an ok, a failed, a flagged and a running trial."""
    run_id, context_id = opened(store)
    first = measure(store, run_id, context_id, 0, ok(2.0))
    measure(store, run_id, context_id, 1, failed(TrialState.OUT_OF_RESOURCES))
    throttled = measurement(1.0, flags=("throttled", "noisy"))
    measure(store, run_id, context_id, 2, ok(measurement=throttled, resources=None))
    store.claim(run_id, context_id, config(3), 3)
    store.add_measurement(first, measurement(2.1, phase=Phase.PLAYOFF, round=1))
    there = context(model=A4000, problem=Problem(M=16, dtype="float16", transposed=True))
    other_run, other = opened(store, there)
    measure(store, other_run, other, 0, ok(9.0))
    return store


def test_trials_have_one_row_each_in_order(filled):
    found = frames.trials(filled, Query())
    assert list(found.columns) == list(frames.TRIAL_COLUMNS)
    assert found["state"].tolist() == ["ok", "out_of_resources", "ok", "running", "ok"]
    assert found["number"].tolist() == [0, 1, 2, 3, 0]
    assert found["time_ms"].tolist()[0] == 2.0
    assert found["time_ms"].isna().tolist() == [False, True, False, True, False]
    assert found["config"].tolist()[0] == config(0)
    assert found["flags"].tolist()[2] == ("throttled", "noisy")
    assert found["is_eligible"].tolist() == [True, False, False, False, True]
    assert found["device_model"].tolist() == ["nvidia-h200"] * 4 + ["nvidia-rtx-a4000"]
    assert found["sm_count"].tolist() == [132] * 4 + [48]
    assert found["study"].unique().tolist() == ["a study"]
    assert found["problem_fields"].iloc[4] == {"M": 16, "dtype": "float16", "transposed": True}


def test_whole_numbers_print_as_whole_numbers_where_some_are_missing(filled):
    found = frames.trials(filled, Query())
    assert str(found["shared_bytes"].dtype) == "Int64"
    assert found["shared_bytes"].astype("string").fillna("-").tolist() == [
        "98304", "-", "-", "-", "98304",
    ]  # fmt: skip
    assert "98304.0" not in found.to_string()


def test_an_unset_parameter_leaves_the_row_and_the_other_values_alone(store):
    _, context_id = opened(store)
    configs = [
        Config(BLOCK_M=128, layout="row", warp=True, ratio=0.5, shape=(1, 2), mixed=1),
        Config(BLOCK_M=64, layout="column", mixed="auto"),
        Config(num_warps=4, mixed=None),
    ]
    store.record_all(context_id, [trial(n, config=made) for n, made in enumerate(configs)])
    found = frames.with_parameters(frames.trials(store, Query()))
    assert len(found) == 3
    assert found["param.BLOCK_M"].tolist() == [128, 64, pd.NA]
    assert str(found["param.BLOCK_M"].dtype) == "Int64"
    assert found["param.layout"].tolist() == ["row", "column", None]
    assert found["param.warp"].tolist() == [True, None, None]
    assert found["param.ratio"].tolist()[0] == 0.5
    assert math.isnan(found["param.ratio"].tolist()[1])
    assert found["param.shape"].tolist()[0] == (1, 2)
    assert found["param.mixed"].tolist() == [1, "auto", None]
    printed = found.filter(like="param.").to_string()
    assert "128" in printed
    assert "128.0" not in printed


def test_problem_fields_become_columns(filled):
    found = frames.with_problem(frames.trials(filled, Query()))
    assert found["problem.M"].tolist() == [4096, 4096, 4096, 4096, 16]
    assert found["problem.N"].tolist() == [4096, 4096, 4096, 4096, pd.NA]
    assert found["problem.dtype"].tolist()[-1] == "float16"
    assert found["problem.transposed"].tolist()[-1] is True


def test_columns_are_added_whatever_the_index(filled):
    found = frames.trials(filled, Query()).iloc[[4, 0]]
    added = frames.with_problem(frames.with_parameters(found))
    assert added.index.tolist() == [4, 0]
    assert added["param.BLOCK_M"].tolist() == [16, 16]
    assert added["problem.dtype"].tolist() == ["float16", "bfloat16"]


def test_a_config_without_parameters_adds_no_column(store):
    _, context_id = opened(store)
    store.record(context_id, trial(0, config=Config()))
    found = frames.trials(store, Query())
    assert list(frames.with_parameters(found).columns) == list(found.columns)
    assert found["config"].tolist() == [Config()]


def test_measurements_have_one_row_each(filled):
    found = frames.measurements(filled, Query(device_model="nvidia-h200"))
    assert list(found.columns) == list(frames.MEASUREMENT_COLUMNS)
    assert found["phase"].tolist() == ["screen", "screen", "playoff"]
    assert found["median_ms"].tolist() == [2.0, 1.0, 2.1]
    assert found["round"].tolist() == [0, 0, 1]
    assert found["config_id"].tolist() == [config(0).id, config(2).id, config(0).id]
    assert found["is_eligible"].tolist() == [True, False, True]
    assert found["sm_clock_mhz"].tolist() == [1980] * 3


def test_contexts_explain_themselves(filled):
    found = frames.contexts(filled, Query())
    row = found.iloc[0]
    assert (row["kernel"], row["device_model"], row["runs"]) == ("matmul", "nvidia-h200", 1)
    assert row["space"] == SPACE
    assert row["bytes"] == 100_663_296.0
    assert (row["copy_gbs"], row["launch_floor_ms"]) == (4012.5, 0.0021)
    assert row["matmul_tflops"] == {"bfloat16": 751.0}
    assert row["model"] == context().model
    assert row["environment"] == context().environment
    assert row["protocol"] == context().protocol
    assert found["context_id"].tolist()[0] == context().id


@pytest.mark.parametrize("make", [frames.trials, frames.measurements, frames.contexts])
def test_an_empty_frame_has_the_columns_and_types_of_a_full_one(filled, make):
    full, empty = make(filled, Query()), make(filled, Query(kernel="none"))
    assert len(empty) == 0
    assert empty.dtypes.to_dict() == full.dtypes.to_dict()


def test_an_empty_store_gives_empty_frames(store):
    assert len(frames.with_problem(frames.with_parameters(frames.trials(store, Query())))) == 0
    assert len(frames.measurements(store, Query())) == 0
    assert len(frames.contexts(store, Query())) == 0
    assert frames.picks(store, Query()) == []


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (Query(), 5),
        (Query(kernel="matmul"), 5),
        (Query(kernel="softmax"), 0),
        (Query(device_model="nvidia-h200"), 4),
        (Query(device_model=A4000.id), 1),
        (Query(device_model="NVIDIA RTX A4000"), 1),
        (Query(device_model="nvidia"), 0),
        (Query(problem="dtype=float16,M=16,transposed=true"), 1),
        (Query(problem=Problem(M=16, dtype="float16", transposed=True)), 1),
        (Query(study="a study"), 5),
        (Query(study="another"), 0),
        (Query(context_ids=[context().id]), 4),
        (Query(context_ids=[]), 0),
    ],
    ids=str,
)
def test_a_query_narrows_what_is_read(filled, query, count):
    assert len(frames.trials(filled, query)) == count


def test_a_study_sees_only_what_it_measured(filled):
    _, context_id = opened(filled)
    mine = filled.begin_run("mine", {})
    measure(filled, mine, context_id, 7)
    assert len(frames.trials(filled, Query(study="mine"))) == 1
    assert len(frames.contexts(filled, Query(study="mine"))) == 1
    assert len(frames.trials(filled, Query(study="a study"))) == 5


def test_simulated_times_are_left_out_unless_asked_for(store):
    for source in (Source.GPU, Source.INTERPRETER, Source.FAKE, Source.REPLAY, Source.IMPORTED):
        of = context(source=source)
        run_id, context_id = opened(store, of)
        measure(store, run_id, context_id, 0)
        store.add_pick(pick(of=of))
    shown = {"gpu", "replay", "imported"}
    for make in (frames.trials, frames.contexts):
        assert set(make(store, Query())["source"]) == shown
        assert len(make(store, Query(include_simulated=True))) == 5
    assert len(frames.measurements(store, Query())) == 3
    assert {made.context.source for made in frames.picks(store, Query())} == shown
    assert len(frames.picks(store, Query(include_simulated=True))) == 5


def test_other_code_is_shown_unless_only_the_last_is_wanted(store):
    old = context(kernel=replace(MATMUL, code_hash="old"))
    for of in (old, context()):
        run_id, context_id = opened(store, of)
        measure(store, run_id, context_id, 0)
    found = frames.trials(store, Query())
    assert found["code_hash"].tolist() == ["old", "c0de"]
    assert frames.trials(store, Query(all_code=False))["code_hash"].tolist() == ["c0de"]
    opened(store, old)
    assert frames.trials(store, Query(all_code=False))["code_hash"].tolist() == ["old"]


def test_repeated_trials_are_rows_of_their_own(store):
    run_id, context_id = opened(store)
    store.claim(run_id, context_id, config(0), 0)
    store.end_run(run_id, "interrupted")
    run_id, _ = opened(store)
    measure(store, run_id, context_id, 0)
    found = frames.trials(store, Query())
    assert found["state"].tolist() == ["interrupted", "ok"]
    assert found["attempt"].tolist() == [1, 2]
    assert found["run_id"].tolist() == [1, 2]


def test_imported_trials_belong_to_no_run(store):
    _, context_id = opened(store)
    store.record(context_id, trial(0, resources=Resources(threads=128)))
    found = frames.trials(store, Query())
    assert found["run_id"].isna().tolist() == [True]
    assert found["study"].tolist() == [""]
    assert found["threads"].tolist() == [128]
    assert found["device_uuid"].tolist() == [UUID]


def test_frames_larger_than_a_part_are_whole(store, monkeypatch):
    _, context_id = opened(store)
    store.record_all(context_id, [trial(n, 1.0 + n) for n in range(95)])
    whole = frames.trials(store, Query())
    monkeypatch.setattr(frames, "_PART", 10)
    pd.testing.assert_frame_equal(frames.trials(store, Query()), whole)
    assert whole["number"].tolist() == list(range(95))
    assert len(frames.measurements(store, Query())) == 95
