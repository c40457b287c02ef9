import statistics
import time

import pytest

from autotune_lab import Problem, recording
from autotune_lab.devices.opening import open_device
from autotune_lab.errors import ImportFailed, NoDevice, UsageError
from autotune_lab.recording import RecordedContext
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    MeasureJob,
    Measurement,
    Phase,
    Protocol,
    Resources,
    Source,
    SpaceSnapshot,
    Telemetry,
    Trial,
    TrialState,
)
from autotune_lab.spaces.config import Config

H200 = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 150 * 10**9)
PART = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 64, 150 * 10**9, partition="64sm")
SMALL, LARGE = Problem(n=16, dtype="float32"), Problem(n=4096, dtype="float32")
SOFTWARE = Environment(driver="580.1", torch="2.11", triton="3.6.0")
SAMPLES = (1.02, 0.98, 1.0, 1.01, 0.99, 1.5, 1.0)
SPACE = SpaceSnapshot({"BLOCK": (16, 32, 64, 128)}, ("BLOCK",), (), 4)


def measured(samples, phase=Phase.SCREEN, number=0):
    return Measurement(
        phase,
        tuple(samples),
        statistics.median(samples),
        min(samples),
        max(samples),
        round=number,
        telemetry=Telemetry(sm_clock_mhz=1980),
        taken_at="2026-01-01T00:00:00+00:00",
    )


def context(problem=SMALL, model=H200, **changes):
    kernel = KernelIdentity("scale", "c0de", reference="search_spaces/scale.py:scale")
    trials = [
        ((16,), TrialState.OK, "", [measured(SAMPLES)]),
        (
            (32,),
            TrialState.OK,
            "",
            [
                measured([3.0] * 9),
                measured([3.11] * 5, Phase.PLAYOFF, 1),
                measured([3.12] * 5, Phase.PLAYOFF, 2),
            ],
        ),
        ((64,), TrialState.OUT_OF_RESOURCES, "shared memory, Required: 262144", []),
    ]
    recorded = Context(kernel, problem, model, SOFTWARE, Protocol(), Source.GPU)
    return RecordedContext(
        context=recorded,
        space=SPACE,
        launch_floor_ms=0.002,
        copy_gbs=4100.0,
        matmul_tflops={"bfloat16": 700.0},
        trials=tuple(
            Trial(
                recorded.id,
                Config(BLOCK=block[0]),
                state,
                number=number,
                reason=reason,
                measurements=tuple(measurements),
                resources=Resources(shared_bytes=1024),
            )
            for number, (block, state, reason, measurements) in enumerate(trials)
        ),
        **changes,
    )


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "2026-01-01-h200.jsonl.gz"
    recording.write(path, [context(), context(LARGE), context(SMALL, PART)])
    return path


@pytest.fixture
def device(recorded):
    return open_device(f"replay:{recorded}")


def job(block=16, problem=SMALL, **changes):
    return MeasureJob("scale", problem, Config(BLOCK=block), Protocol(), **changes)


def test_it_is_the_recorded_card_under_the_recorded_software(device):
    assert device.probe().model == H200
    assert device.probe().source is Source.REPLAY
    assert device.environment() == SOFTWARE
    assert device.ceilings.launch_floor_ms == 0.002
    assert device.ceilings.copy_gbs == 4100.0
    assert device.ceilings.matmul_tflops == {"bfloat16": 700.0}


def test_a_part_is_picked_by_slug_or_by_its_own_name(recorded):
    for part in ("nvidia-h200-64sm", "64sm", PART.id):
        assert open_device(f"replay:{recorded}@{part}").probe().model == PART
    with pytest.raises(NoDevice, match="no device model 'b200'; it has nvidia-h200, nvidia"):
        open_device(f"replay:{recorded}@b200")


def test_two_whole_cards_need_a_choice(tmp_path):
    other = DeviceModel("NVIDIA L4", "nvidia", "sm_89", 58, 24 * 10**9)
    path = tmp_path / "two.jsonl.gz"
    recording.write(path, [context(), context(model=other)])
    with pytest.raises(UsageError, match="pick one of nvidia-h200, nvidia-l4 with @MODEL"):
        open_device(f"replay:{path}")
    assert open_device(f"replay:{path}@nvidia-l4").probe().model == other


def test_a_screening_is_given_back_as_it_was_recorded(device):
    outcome = device.recall(job())
    assert outcome.state is TrialState.OK
    assert outcome.measurement == measured(SAMPLES)
    assert outcome.resources == Resources(shared_bytes=1024)


def test_recorded_rounds_are_given_back_and_later_ones_drawn(device):
    rounds = [
        device.recall(job(32, phase=Phase.PLAYOFF, round=number)).measurement
        for number in (1, 2, 3)
    ]
    assert [m.median_ms for m in rounds[:2]] == [3.11, 3.12]
    assert rounds[2].median_ms in (3.11, 3.12)
    assert [m.round for m in rounds] == [1, 2, 3]


def test_drawn_rounds_differ_honestly_and_repeat_exactly(device, recorded):
    def rounds(opened):
        return [
            opened.recall(job(phase=Phase.PLAYOFF, round=number)).measurement
            for number in range(1, 30)
        ]

    first = rounds(device)
    assert first == rounds(open_device(f"replay:{recorded}"))
    assert len({m.samples_ms for m in first}) > 20
    assert {s for m in first for s in m.samples_ms} <= set(SAMPLES)
    assert all(m.median_ms == statistics.median(m.samples_ms) for m in first)
    assert all(m.phase is Phase.PLAYOFF for m in first)


def test_a_failure_is_replayed_with_its_reason(device):
    outcome = device.recall(job(64))
    assert outcome.state is TrialState.OUT_OF_RESOURCES
    assert outcome.reason == "shared memory, Required: 262144"
    assert outcome.measurement is None


def test_a_config_that_was_not_recorded_is_illegal(device):
    outcome = device.recall(job(128))
    assert outcome.state is TrialState.ILLEGAL
    assert "not recorded" in outcome.reason


def test_a_hopeless_config_is_given_up_as_it_would_be_live(device):
    outcome = device.recall(job(32, best_ms=1.0))
    assert outcome.state is TrialState.PRUNED
    assert outcome.measurement.samples_ms == (3.0,) * 3
    assert "2x the best" in outcome.reason
    assert device.recall(job(32, best_ms=1.6)).state is TrialState.OK
    assert device.recall(job(32, best_ms=1.0, phase=Phase.TRANSFER)).state is TrialState.OK


@pytest.mark.parametrize("reference", ["scale", "scale.py", "a/b/scale.py", "a/b.py:scale"])
def test_the_kernel_is_found_however_it_is_referred_to(device, reference):
    found = MeasureJob(reference, LARGE, Config(BLOCK=16), Protocol())
    assert device.recall(found).state is TrialState.OK


def test_what_was_not_recorded_is_refused_with_what_was(device):
    with pytest.raises(NoDevice, match=r"nothing of scale n=5.*it has scale n=16.*scale n=4096"):
        device.recall(job(problem=Problem(n=5, dtype="float32")))


@pytest.mark.parametrize("protocol", [Protocol(cache="hot"), Protocol(timer="graph")])
def test_another_way_of_measuring_is_refused(device, protocol):
    with pytest.raises(NoDevice, match=r"was recorded with (cache 'cold'|timer 'events')"):
        device.recall(MeasureJob("scale", SMALL, Config(BLOCK=16), protocol))


def test_other_code_is_said_to_be_so(device):
    same = KernelIdentity("scale", "c0de")
    assert device.caveat(same, SMALL) == ""
    assert "has changed since" in device.caveat(KernelIdentity("scale", "0ther"), SMALL)
    with pytest.raises(NoDevice):
        device.caveat(KernelIdentity("unknown", "c0de"), SMALL)


def test_an_answer_takes_microseconds(device):
    device.recall(job())
    started = time.perf_counter()
    for _ in range(200):
        device.recall(job(phase=Phase.PLAYOFF, round=3))
    assert (time.perf_counter() - started) / 200 < 2e-3


def test_the_newest_bundled_recording_is_the_default(monkeypatch, recorded):
    from autotune_lab.devices import replay

    newer = recorded.with_name("2026-02-01-h200.jsonl.gz")
    recording.write(newer, [context(model=PART)])
    monkeypatch.setattr(replay, "_BUNDLED", recorded.parent)
    assert open_device("replay").probe().model == PART


def test_a_file_that_is_no_recording_is_named(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(ImportFailed, match=r"a\.jsonl\.gz"):
        open_device(f"replay:{path}")
    recording.write(path, [])
    with pytest.raises(NoDevice, match="has no device model"):
        open_device(f"replay:{path}")
