from autotune_lab.devices.base import Ceilings
from autotune_lab.devices.fake import FakeDevice
from autotune_lab.measuring.ceilings import measure_ceilings


def test_what_is_no_gpu_has_no_ceilings():
    assert measure_ceilings(FakeDevice()) == Ceilings()
    assert measure_ceilings(FakeDevice(floor_ms=0.03)) == Ceilings(launch_floor_ms=0.03)
