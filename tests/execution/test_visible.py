"""From device spec to the one device a process may see; NVML is replaced where there is no GPU."""

from types import SimpleNamespace

import pytest

from autotune_lab.execution import visible
from autotune_lab.execution.visible import Assignment, assign, same_uuid

ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


class NoNvmlError(Exception):
    pass


@pytest.fixture
def nvml(monkeypatch):
    """A machine of four cards in PCI order; the last is in MIG mode."""

    def mig_mode(handle):
        if handle < 2:
            raise NoNvmlError("not supported")
        return (handle == 3, False)

    library = SimpleNamespace(
        NVMLError=NoNvmlError,
        NVML_DEVICE_MIG_ENABLE=1,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}",
        nvmlDeviceGetMigMode=mig_mode,
    )
    monkeypatch.setitem(__import__("sys").modules, "pynvml", library)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return library


def seen(uuid):
    return {**ORDER, "CUDA_VISIBLE_DEVICES": uuid}


def test_an_ordinal_becomes_a_uuid_and_the_device_the_first_there(nvml):
    assert assign("cuda:2@64sm") == Assignment("cuda:0@64sm", "GPU-2", seen("GPU-2"))
    assert assign("cuda") == Assignment("cuda:0", "GPU-0", seen("GPU-0"))


@pytest.mark.parametrize(
    ("mask", "uuid"),
    [("3,1", "GPU-1"), ("GPU-7,MIG-8", "MIG-8"), ("0", ""), ("", ""), ("0,-1", "")],
)
def test_an_outer_mask_is_respected(nvml, monkeypatch, mask, uuid):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assignment = assign("cuda:1")
    assert assignment.uuid == uuid
    assert assignment.spec == ("cuda:0" if uuid else "cuda:1")
    assert assignment.variables == (seen(uuid) if uuid else ORDER)


@pytest.mark.parametrize("uuid", ["GPU-2b7e-11", "MIG-5c2d-0"])
def test_a_uuid_is_taken_as_it_is(uuid, monkeypatch):
    monkeypatch.setattr(visible, "_nvml_uuid", lambda index: pytest.fail("NVML was asked"))
    assert assign(f"cuda:{uuid}") == Assignment("cuda:0", uuid, seen(uuid))


def test_what_can_not_be_known_from_outside_is_left_to_the_process(nvml):
    assert assign("cuda:3") == Assignment("cuda:3", "", ORDER)  # its slices have other UUIDs
    nvml.nvmlInit = lambda: (_ for _ in ()).throw(NoNvmlError("driver not loaded"))
    assert assign("cuda:0") == Assignment("cuda:0", "", ORDER)


def test_other_devices_have_their_own_variables_and_no_uuid():
    assert assign("fake:3@64sm") == Assignment("fake:3@64sm", "", {})
    assert assign("interpreter").variables["TRITON_INTERPRET"] == "1"


def test_uuids_are_equal_with_and_without_prefix():
    assert same_uuid("GPU-Ab12", "ab12")
    assert same_uuid("MIG-1", "MIG-1")
    assert not same_uuid("GPU-1", "GPU-2")
