"""Identities: what must differ differs, what must not matter does not."""

from dataclasses import fields, replace

import numpy as np
import pytest

from autotune_lab.codec import from_json, to_json
from autotune_lab.definitions import Problem
from autotune_lab.records import (
    DISQUALIFYING_FLAGS,
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    MeasureJob,
    Outcome,
    Phase,
    Pick,
    Protocol,
    Source,
    SpaceSnapshot,
    Trial,
    TrialState,
)
from autotune_lab.spaces.config import Config
from tests.store.making import H200, SPACE, TODAY, context, measurement, ok, pick, trial


def test_every_state_says_whether_it_is_a_failure():
    fine = {TrialState.OK, TrialState.PRUNED, TrialState.RUNNING, TrialState.INTERRUPTED}
    assert {state for state in TrialState if not state.is_failure} == fine


def test_only_scripted_and_interpreted_times_are_simulated_and_all_but_the_gpu_say_so():
    assert {s for s in Source if s.is_simulated} == {Source.INTERPRETER, Source.FAKE}
    assert {s for s in Source if not s.notice} == {Source.GPU}


@pytest.mark.parametrize(
    "change",
    [
        {"name": "NVIDIA H200 NVL"},
        {"architecture": "sm_100"},
        {"sm_count": 16},
        {"memory_bytes": 18 << 30},
        {"power_limit_w": 600},
        {"partition": "64sm"},
    ],
    ids=str,
)
def test_device_models_that_differ_are_other_models(change):
    assert replace(H200, **change).id != H200.id


def test_a_few_bytes_of_memory_make_no_other_model():
    assert replace(H200, memory_bytes=H200.memory_bytes + 2**20).id == H200.id


@pytest.mark.parametrize(
    ("name", "partition", "slug"),
    [
        ("NVIDIA H200", "", "nvidia-h200"),
        ("NVIDIA H200", "64sm", "nvidia-h200-64sm"),
        ("NVIDIA A100-SXM4-80GB", "MIG 1g.10gb", "nvidia-a100-sxm4-80gb-mig-1g-10gb"),
        ("../../etc/passwd", "", "etc-passwd"),
        ('a "quoted":\\name', "", "a-quoted-name"),
        ("図", "", "unnamed"),
        ("", "", "unnamed"),
    ],
)
def test_slugs_are_safe_anywhere(name, partition, slug):
    assert DeviceModel(name, "none", "sm_90", 1, 1, partition).slug == slug


@pytest.mark.parametrize("name", [f.name for f in fields(Environment)])
def test_any_difference_of_software_is_another_environment(name):
    other = {"TRITON_DEFAULT_FP_FUSION": "0"} if name == "variables" else "other"
    changed = replace(TODAY, **{name: other})
    assert changed.id != TODAY.id
    assert [line.split()[0] for line in changed.differences(TODAY)] == [name]
    assert TODAY.differences(TODAY) == []


def test_the_order_of_environment_variables_does_not_matter():
    one = Environment(variables={"A": "1", "B": "2"})
    assert one.id == Environment(variables={"B": "2", "A": "1"}).id


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"cache": "hot"}, {"timer": "graph"}, {"seed": 1}, {"warmup_ms": 1.0}],
    ids=str,
)
def test_anything_of_the_protocol_is_part_of_what_a_time_means(change):
    assert Protocol(**change).id != Protocol().id
    assert context(protocol=Protocol(**change)).id != context().id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cache": "warm"}, "cache is 'warm'; use 'cold' or 'hot'"),
        ({"timer": "clock"}, "timer is 'clock'"),
        ({"min_samples": 0}, "min_samples 0"),
        ({"min_samples": 9, "max_samples": 8}, r"min_samples 9 is not in 1\.\.8"),
    ],
)
def test_a_protocol_that_can_not_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Protocol(**change)


def test_where_a_kernel_is_found_is_no_part_of_what_it_is():
    kernel = KernelIdentity("matmul", "c0de", "4ef", "matmul")
    assert replace(kernel, reference="other/matmul.py").id == kernel.id
    assert replace(kernel, code_hash="other").id != kernel.id
    assert replace(kernel, reference_hash="other").id != kernel.id


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Problem(M=1, N=2), Problem(N=2, M=1), True),
        (Problem(M=np.int64(1)), Problem(M=1), True),
        (Problem(M=4096), Problem(M=4097), False),
        (Problem(flag=True), Problem(flag=1), False),
        (Problem(dtype="float16"), Problem(dtype="float32"), False),
        (Problem(layout="row"), Problem(layout="column"), False),
    ],
    ids=str,
)
def test_a_context_has_shape_dtype_layout_and_scalars(one, other, same):
    assert (context(problem=one).id == context(problem=other).id) is same


@pytest.mark.parametrize(
    "record",
    [
        context(),
        pick(),
        trial(3),
        ok(2.0),
        SPACE,
        MeasureJob("matmul", Problem(M=1), Config(A=(1, "x")), Protocol(), best_ms=0.5),
        Outcome(TrialState.CRASHED, reason="signal 11", retire=True),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_cross_a_pipe_unchanged(record):
    found = from_json(type(record), to_json(record))
    assert (found.canonical() if isinstance(found, SpaceSnapshot) else found) == record


def test_a_trials_time_is_that_of_its_first_measurement_outside_a_playoff():
    rounds = (measurement(0.5, phase=Phase.PLAYOFF, round=1), measurement(2.0), measurement(3.0))
    assert trial(measurements=rounds).screen_ms == 2.0
    assert trial(measurements=rounds[:1]).screen_ms is None
    assert trial(measurements=rounds, state=TrialState.PRUNED).screen_ms is None


@pytest.mark.parametrize("flag", sorted(DISQUALIFYING_FLAGS))
def test_a_disqualified_measurement_chooses_no_winner(flag):
    bad = measurement(1.0, flags=("noisy", flag))
    assert not trial(measurements=(bad,)).is_eligible
    assert trial(measurements=(bad, measurement(1.0, flags=("noisy",)))).is_eligible
    assert not trial(state=TrialState.WRONG_RESULT).is_eligible


def test_optimism_needs_a_re_measurement():
    assert pick(median_ms=1.1, chosen_ms=1.0).optimism == pytest.approx(0.1)
    assert pick(rounds=0).optimism is None
    assert pick(chosen_ms=None).optimism is None


def test_a_label_reads_as_a_person_would_say_it():
    assert context().label == "matmul M=4096,N=4096,K=4096,dtype=bfloat16 on nvidia-h200"


def test_records_can_not_be_changed_by_mistake():
    for kind in (Context, Trial, Pick, Outcome):
        assert kind.__dataclass_params__.frozen
        assert hasattr(kind, "__slots__")
