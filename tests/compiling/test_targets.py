"""Limits by architecture, what exceeds them, and how many blocks an SM holds."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.compiling.occupancy import occupancy
from autotune_lab.compiling.targets import TARGETS, fits, target_of
from autotune_lab.records import DeviceModel, Resources

H200 = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 141 * 2**30, max_shared_bytes=232_448)


@pytest.mark.parametrize(
    ("architectures", "max_shared_bytes"),
    [
        (["sm_75", "gfx90a", "gfx942", "gfx1100", "gfx1201"], 65_536),
        (["sm_80", "sm_87"], 166_912),
        (["sm_86", "sm_89", "sm_120", "sm_121"], 101_376),
        (["sm_90", "sm_100", "sm_103"], 232_448),
        (["gfx950"], 163_840),
    ],
)
def test_shared_memory_per_block(architectures, max_shared_bytes):
    assert {TARGETS[name].max_shared_bytes for name in architectures} == {max_shared_bytes}


def test_each_target_names_its_manual():
    for name, target in TARGETS.items():
        assert target.architecture == name
        assert "guide" in target.source.lower()


def test_what_the_device_reports_goes_before_the_table():
    model = dataclasses.replace(H200, max_shared_bytes=100_000, registers_per_sm=1024)
    assert target_of(model).max_shared_bytes == 100_000
    assert target_of(model).registers_per_sm == 1024
    assert target_of(TARGETS["gfx942"].model()) == TARGETS["gfx942"]


def test_an_architecture_that_the_table_lacks_is_taken_from_the_device():
    model = dataclasses.replace(H200, architecture="sm_130", max_shared_bytes=300_000)
    target = target_of(model)
    assert (target.architecture, target.triton_arch) == ("sm_130", 130)
    assert target.max_shared_bytes == 300_000
    assert "sm_130 is not in the table" in target.source


@pytest.mark.parametrize(
    ("resources", "reason"),
    [
        (Resources(shared_bytes=232_448, threads=1024, registers=64), ""),
        (Resources(), ""),
        (
            Resources(shared_bytes=232_449),
            "out of resource: shared memory, Required: 232449, Hardware limit: 232448",
        ),
        (Resources(threads=2048), "out of resource: threads, Required: 2048, Hardware limit: 1024"),
        (
            Resources(threads=512, registers=200),
            "out of resource: registers, Required: 102400, Hardware limit: 65536",
        ),
    ],
)
def test_what_can_not_fit_says_why_in_tritons_words(resources, reason):
    assert fits(resources, H200) == reason
    assert fits(resources, TARGETS["sm_90"]) == reason


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared_bytes", "blocks", "limited_by"),
    [
        # By hand with the units of cuda_occupancy.h, and as its spreadsheet has them.
        ("sm_90", 128, 32, 0, 16, ("threads", "registers")),
        ("sm_90", 256, 128, 98_304, 2, ("registers", "shared memory")),
        ("sm_90", 256, 255, 0, 1, ("registers",)),
        ("sm_80", 32, 16, 0, 32, ("blocks",)),
        ("sm_86", 128, 40, 0, 12, ("threads", "registers")),
        ("sm_89", 256, 64, 50_000, 2, ("shared memory",)),
        ("sm_75", 1024, 64, 0, 1, ("threads", "registers")),
        ("sm_89", 256, 64, 200_000, 0, ("shared memory",)),
        ("gfx942", 256, 128, 32_768, 2, ("shared memory",)),
        ("gfx942", 256, 128, 0, 4, ("registers",)),
        ("gfx1100", 256, 96, 0, 8, ("threads", "registers")),
    ],
)
def test_occupancy_by_hand(architecture, threads, registers, shared_bytes, blocks, limited_by):
    target = TARGETS[architecture]
    resources = Resources(threads=threads, registers=registers, shared_bytes=shared_bytes)
    result = occupancy(resources, target)
    assert (result.blocks_per_sm, result.limited_by) == (blocks, limited_by)
    assert result.warps_per_sm == blocks * threads // target.warp_size
    assert result.fraction == result.warps_per_sm * target.warp_size / target.max_threads_per_sm


def test_occupancy_is_unknown_where_a_resource_is():
    assert occupancy(Resources(threads=128, shared_bytes=0), TARGETS["sm_90"]) is None


@given(
    target=st.sampled_from(sorted(TARGETS.values(), key=lambda target: target.architecture)),
    threads=st.sampled_from([64, 128, 256, 512, 1024]),
    registers=st.integers(1, 255),
    shared_bytes=st.integers(0, 232_448),
)
def test_more_of_a_resource_never_raises_occupancy(target, threads, registers, shared_bytes):
    less = Resources(threads=threads, registers=registers, shared_bytes=shared_bytes)
    more = dataclasses.replace(less, registers=registers + 8, shared_bytes=shared_bytes + 512)
    result = occupancy(less, target)
    assert 0 <= result.fraction <= 1
    assert result.limited_by
    assert occupancy(more, target).blocks_per_sm <= result.blocks_per_sm
    assert occupancy(dataclasses.replace(less, threads=2 * threads), target).fraction <= 1
