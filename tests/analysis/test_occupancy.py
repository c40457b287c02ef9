from autotune_lab.analysis.occupancy import trade_offs
from tests.analysis.making import Table


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
