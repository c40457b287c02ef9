"""A device's ceilings are measured once under its software, and asked of the store after that."""

from dataclasses import dataclass, replace

import pytest

from autotune_lab.errors import UsageError
from autotune_lab.records import Device, Environment, Hello, Source
from autotune_lab.store.store import Store
from autotune_lab.tuning.ceilings import measure_device, settled
from tests.tuning.labs import MODEL

HELLO = Hello(
    Device(MODEL, "GPU-1", Source.GPU), Environment(driver="1"), launch_floor_ms=0.004
)  # fmt: skip


@dataclass
class Measuring:
    """The part of an executor that measures ceilings; a little more at each measurement."""

    hello: Hello = HELLO
    measurements: int = 0

    def ceilings(self):
        self.measurements += 1
        rates = {"bfloat16": 700.0 + self.measurements}
        return replace(self.hello, launch_floor_ms=0.003, copy_gbs=4000.0, matmul_tflops=rates)


@pytest.fixture
def store(tmp_path):
    with Store.open(str(tmp_path / "lab.db")) as opened:
        yield opened


def test_the_second_start_measures_nothing(store):
    executor = Measuring()
    first, second = (settled(HELLO, executor, store) for _ in range(2))
    assert executor.measurements == 1
    assert first == second
    assert first.matmul_tflops == {"bfloat16": 701.0}
    assert first.measured_at


def test_the_launch_floor_is_the_one_of_this_start(store):
    assert settled(HELLO, Measuring(), store).launch_floor_ms == 0.004


@pytest.mark.parametrize(
    "other",
    [
        replace(HELLO, environment=Environment(driver="2")),
        replace(HELLO, device=replace(HELLO.device, uuid="GPU-2")),
        replace(HELLO, device=replace(HELLO.device, model=replace(MODEL, partition="4sm"))),
    ],
    ids=["driver", "card", "part"],
)
def test_another_card_part_or_driver_is_measured_itself(store, other):
    settled(HELLO, Measuring(), store)
    executor = Measuring(other)
    settled(other, executor, store)
    assert executor.measurements == 1


@pytest.mark.parametrize("source", [Source.REPLAY, Source.FAKE, Source.INTERPRETER])
def test_only_a_gpu_is_measured(store, source):
    hello = replace(HELLO, device=replace(HELLO.device, source=source), copy_gbs=7.0)
    executor = Measuring(hello)
    assert settled(hello, executor, store) == hello
    assert executor.measurements == 0
    assert store.ceilings() == []


def test_a_recording_answers_with_its_own_and_they_are_not_stored(store):
    found = measure_device("replay", store)
    assert found.device.source is Source.REPLAY
    assert found.copy_gbs > 1000
    assert found.matmul_tflops["bfloat16"] > found.matmul_tflops["float32"]
    assert store.ceilings() == []


@pytest.mark.parametrize("spec", ["interpreter", "fake"])
def test_what_is_no_gpu_is_refused_at_once(store, spec):
    with pytest.raises(UsageError, match="has no ceilings"):
        measure_device(spec, store)
