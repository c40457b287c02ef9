from dataclasses import replace

import pytest

from autotune_lab.analysis.occupancy import occupancies, trade_offs
from tests.analysis.making import H200, Table


def test_time_against_each_resource_with_its_frontier():
    made = Table()
    context = made.context("a")
    for config, (ms, registers, shared) in enumerate(
        [(3.0, 64, 1024), (2.0, 96, 1024), (2.5, 96, 1024), (2.2, 128, 1024), (1.0, 255, 1024)]
    ):
        made.trial(context, config, ms, registers=registers, shared_bytes=shared)
    table = trade_offs(made.frames()[0])
    assert set(table["resource"]) == {"registers"}  # shared memory is the same for all
    assert table[["level", "configs", "best_ms", "is_frontier"]].to_numpy().tolist() == [
        [64, 1, 3.0, True],
        [96, 2, 2.0, True],
        [128, 1, 2.2, False],
        [255, 1, 1.0, True],
    ]


def test_unknown_resources_give_nothing():
    made = Table()
    made.trial(made.context("a"), 1, 1.0)
    assert trade_offs(made.frames()[0]).empty


def test_occupancy_is_what_the_compilers_numbers_allow():
    made = Table()
    context = made.context("a")
    # On sm_90: 64 warps, 65,536 registers, 228 KiB of shared memory, 1 KiB of it reserved a block.
    made.trial(context, 1, 1.0, threads=128, registers=64, shared_bytes=0)
    made.trial(context, 2, 1.0, threads=256, registers=255, shared_bytes=0)
    made.trial(context, 3, 1.0, threads=128, registers=32, shared_bytes=100 * 1024)
    made.trial(context, 4, 1.0, threads=128, registers=32)
    trials = made.frames()[0]
    found = occupancies(trials, {context: H200})
    assert list(found["occupancy"][:3]) == [0.5, 0.125, 0.125]
    assert list(found["limited_by"]) == ["registers", "registers", "shared memory", ""]
    assert found["occupancy"].isna().tolist() == [False, False, False, True]
    assert list(found.index) == list(trials.index)


@pytest.mark.parametrize("architecture", ["", "sm_999"])
def test_where_the_limits_are_not_known_neither_is_the_occupancy(architecture):
    made = Table()
    context = made.context("a")
    made.trial(context, 1, 1.0, threads=128, registers=64, shared_bytes=0)
    model = replace(H200, architecture=architecture)
    assert occupancies(made.frames()[0], {context: model})["occupancy"].isna().all()
