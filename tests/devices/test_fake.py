import math

import pytest

from autotune_lab.devices.fake import FakeDevice
from autotune_lab.devices.opening import open_device
from autotune_lab.errors import UsageError
from autotune_lab.records import Source, Telemetry

ODD = [math.nan, math.inf, None, "3.0", -1.0, True, 1e-12]


def timed(device, values, timer="events"):
    supply = iter(values)
    return device.time(
        lambda: next(supply), len(values), prepare=lambda: None, cache="cold", timer=timer
    )


def test_what_a_launch_returns_is_its_time_whatever_it_is():
    assert [repr(v) for v in timed(FakeDevice(), ODD)] == [repr(v) for v in ODD]


def test_each_launch_is_prepared_just_before():
    events = []
    FakeDevice().time(
        lambda: events.append("launch"),
        2,
        prepare=lambda: events.append("prepare"),
        cache="cold",
        timer="events",
    )
    assert events == ["prepare", "launch"] * 2


def test_no_launch_is_shorter_than_the_floor_by_events():
    device = open_device("fake:floor_ms=0.03")
    assert timed(device, [0.003, 0.004, 0.05]) == [0.03, 0.03, 0.05]
    assert device.launch_floor_ms() == 0.03
    assert FakeDevice().launch_floor_ms() is None


def test_a_graph_adds_its_fixed_cost_over_all_calls():
    device = open_device("fake:fixed_ms=0.006")
    (time_ms,) = timed(device, [0.003], timer="graph")
    assert time_ms == pytest.approx(0.003 + 0.006 / 200)
    assert device.calls_per_sample == (200,)


def test_eight_of_them_have_eight_uuids():
    uuids = {open_device(f"fake:{i}").probe().uuid for i in range(8)}
    assert uuids == {f"fake-{i}" for i in range(8)}


def test_a_part_is_a_model_of_its_own():
    whole, part = open_device("fake").probe(), open_device("fake:0@64sm").probe()
    assert part.model.sm_count == 64
    assert part.model.slug == "fake-gpu-64sm"
    assert part.model.id != whole.model.id
    assert whole.source is Source.FAKE
    assert whole.source.is_simulated


def test_it_is_the_same_every_time():
    assert open_device("fake").probe() == open_device("fake").probe()
    assert open_device("fake").environment() == open_device("fake").environment()


def test_telemetry_follows_its_script_and_stays_at_the_end():
    readings = [Telemetry(sm_clock_mhz=mhz) for mhz in (1, 2)]
    device = FakeDevice(script=readings)
    assert [device.telemetry() for _ in range(3)] == [readings[0], readings[1], readings[1]]


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ("fake:speed=1", "no option 'speed'; it has floor_ms, fixed_ms"),
        ("fake:floor_ms=slow", "'floor_ms=slow' is not a number"),
        ("fake@64", "not 1sm to 132sm"),
        ("fake@0sm", "not 1sm to 132sm"),
        ("fake@133sm", "not 1sm to 132sm"),
    ],
)
def test_a_wrong_option_or_part_is_refused_with_the_right_ones(spec, fault):
    with pytest.raises(UsageError, match=fault):
        open_device(spec)
