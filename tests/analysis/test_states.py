from autotune_lab.analysis.states import complete, counts, coverage, needs, reasons
from autotune_lab.records import SpaceSnapshot
from tests.analysis.making import Table


def made():
    table = Table()
    context = table.context("a", space=SpaceSnapshot({}, (), (), 9))
    table.trial(context, 1, 1.0)
    for config in (2, 3):
        table.trial(
            context,
            config,
            state="out_of_resources",
            reason="shared",
            shared_bytes=240_000 + config,
        )
    table.trial(context, 4, state="crashed", reason="signal 11")
    table.trial(context, 5, state="interrupted")
    table.trial(table.context("b", space=SpaceSnapshot({}, (), (), 2)), 1, 1.0)
    return table.frames()


def test_counts_sum_to_the_trials():
    trials, _, _ = made()
    table = counts(trials)
    assert table.to_numpy().sum() == len(trials)
    assert list(table.columns) == ["ok", "out_of_resources", "crashed", "interrupted"]
    assert table.xs("a", level="device_model").iloc[0].tolist() == [1, 2, 1, 1]


def test_reasons_come_with_counts_and_an_example():
    table = reasons(made()[0])
    assert table[["state", "reason", "trials"]].to_numpy().tolist() == [
        ["out_of_resources", "shared", 2],
        ["crashed", "signal 11", 1],
    ]
    assert table["config"].iloc[0]["c"] == 2


def test_the_smallest_need_stands_against_the_limit():
    trials, _, contexts = made()
    (row,) = needs(trials, contexts).to_dict("records")
    assert (row["rejected"], row["smallest_shared_bytes"], row["limit_shared_bytes"]) == (
        2,
        240_002,
        232_448,
    )


def test_coverage_counts_what_ended():
    trials, _, contexts = made()
    assert coverage(trials, contexts)[["seen", "space_size"]].to_numpy().tolist() == [
        [4, 9],
        [1, 2],
    ]


def test_a_context_is_complete_when_its_whole_space_ended():
    table = Table()
    whole = table.context("a", space=SpaceSnapshot({}, (), (), 2))
    part = table.context("b", space=SpaceSnapshot({}, (), (), 2))
    for context in (whole, part):
        table.trial(context, 1, 1.0)
    table.trial(whole, 2, state="crashed")
    table.trial(part, 2, state="interrupted")
    trials, _, contexts = table.frames()
    assert complete(trials, contexts) == {whole}
