import numpy as np
import pytest

from autotune_lab.analysis.plausibility import BELOW_FLOOR, FLAT, MULTIPLE, flags
from tests.analysis.making import Table
from tests.analysis.test_transfer import only


def flagged(times_by_device, **facts):
    made = Table()
    for device, times in times_by_device.items():
        context = made.context(device, **facts)
        for config, ms in enumerate(times):
            made.trial(context, config, float(ms))
    return flags(only(made), made.frames()[2])


@pytest.fixture
def times():
    return np.random.default_rng(0).uniform(1, 5, 400)


def test_honest_tables_are_not_flagged(times):
    other = times * np.random.default_rng(1).uniform(0.9, 1.1, 400)
    assert flagged({"a": times, "b": other}).empty


def test_cells_that_are_a_multiple_of_another_device_are_found(times):
    other = np.random.default_rng(1).uniform(1, 5, 400)
    other[:60] = times[:60] * 1.37
    found = flagged({"a": times, "b": other}).set_index("context_id")
    assert found["flag"].tolist() == [MULTIPLE] * 2
    assert found["cells"].tolist() == [60, 60]
    assert "60 of 400 times are exactly 1.37 times those of a" in found["detail"].iloc[1]


def test_equal_short_times_of_a_coarse_timer_are_no_copy():
    rng = np.random.default_rng(2)
    quantised = {device: rng.integers(10, 14, 400) * 0.001024 for device in "ab"}
    assert not (flagged(quantised)["flag"] == MULTIPLE).any()


def test_times_under_the_least_traffic_are_found(times):
    found = flagged({"a": times}, bytes=8e9, copy_gbs=4000.0)
    (row,) = found.to_dict("records")
    assert row["flag"] == BELOW_FLOOR
    assert row["cells"] == (times < 2 / 1.5).sum()
    assert "copy bandwidth" in row["detail"]


def test_without_known_work_only_a_microsecond_is_the_floor(times):
    assert flagged({"a": times}).empty
    (row,) = flagged({"a": [*times, 5e-4]}).to_dict("records")
    assert (row["flag"], row["cells"]) == (BELOW_FLOOR, 1)


def test_a_kernel_that_did_nothing_is_found():
    nothing = np.random.default_rng(3).uniform(0.0050, 0.0052, 300)
    (row,) = flagged({"a": nothing}).to_dict("records")
    assert row["flag"] == FLAT
    assert flagged({"a": nothing * 1000}).empty
    assert flagged({"a": nothing[:50]}).empty
