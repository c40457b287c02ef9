import math

import pytest

from autotune_lab.analysis.matrix import matrices
from autotune_lab.analysis.noise import floors
from autotune_lab.analysis.transfer import Axis, entries, slower_than_default, summary, table
from autotune_lab.spaces.config import Config
from tests.analysis.making import Table


def only(made, **arguments):
    trials, measurements, _ = made.frames()
    (matrix,) = matrices(trials, measurements, **arguments)
    return matrix


@pytest.fixture
def three():
    """Three GPUs; config 3 fails on b and was not tried on c; config 9 is the default.

    time_ms   a     b     c
    1         1.0   2.0   4.0
    2         2.0   1.0   2.0
    3         0.5   -     ?
    9         1.0   1.6   1.0
    """
    made = Table()
    for device, times in {
        "a": {1: 1.0, 2: 2.0, 3: 0.5, 9: 1.0},
        "b": {1: 2.0, 2: 1.0, 3: None, 9: 1.6},
        "c": {1: 4.0, 2: 2.0, 9: 1.0},
    }.items():
        context = made.context(device)
        for config, ms in times.items():
            made.trial(context, config, ms, reason="" if ms else "no kernel image")
    return made


def by_cell(frame):
    return {(row.tuned_on, row.run_on): row for row in frame.itertuples()}


def test_the_matrix_by_hand(three):
    cells = by_cell(entries(only(three), Axis.DEVICE))
    assert {key: row.efficiency for key, row in cells.items() if row.state != "not measured"} == {
        ("a", "a"): 1.0,
        ("a", "b"): 0.0,
        ("b", "a"): 0.25,
        ("b", "b"): 1.0,
        ("b", "c"): 0.5,
        ("c", "a"): 0.5,
        ("c", "b"): pytest.approx(1 / 1.6, abs=1e-12),
        ("c", "c"): 1.0,
    }


def test_three_states_are_told_apart(three):
    cells = by_cell(entries(only(three), Axis.DEVICE))
    failing, missing, fine = cells["a", "b"], cells["a", "c"], cells["b", "c"]
    assert (failing.state, failing.reason) == ("does not run", "launch_error: no kernel image")
    assert (missing.state, missing.reason) == ("not measured", "")
    assert math.isnan(missing.efficiency)
    assert fine.state == "measured"
    assert failing.is_real


def test_the_default_has_a_row_everywhere_and_cells_slower_than_it_are_listed(three):
    matrix = only(three)
    default = {column.context_id: Config(c=9).id for column in matrix.columns}
    frame = entries(matrix, Axis.DEVICE, defaults=default)
    cells = by_cell(frame)
    assert [cells["default", device].efficiency for device in "abc"] == [0.5, 0.625, 1.0]
    worse = slower_than_default(frame)
    assert set(zip(worse["tuned_on"], worse["run_on"], strict=True)) == {
        ("a", "b"),
        ("b", "a"),
        ("b", "c"),
    }
    assert list(table(frame).index) == ["a", "b", "c", "default"]
    assert table(frame).loc["b", "a"] == 0.25


def test_the_mean_is_withheld_where_a_cell_is_missing(three):
    found = summary(entries(only(three), Axis.DEVICE)).set_index("tuned_on")
    assert found.loc["a", ["elsewhere", "known", "fails"]].tolist() == [2, 1, 1]
    assert math.isnan(found.loc["a", "mean_efficiency"])
    assert found.loc["b", ["worst_on", "worst_efficiency", "mean_efficiency"]].tolist() == [
        "a",
        0.25,
        0.375,
    ]


def test_environments_stand_apart_and_are_never_averaged():
    made = Table()
    for environment, ms in (("3.8.0", 1.0), ("3.9.0", 3.0)):
        context = made.context("a", environment=environment)
        made.trial(context, 1, ms)
        made.trial(context, 2, 2.0)
    other = made.context("b", environment="3.9.0")
    made.trial(other, 1, 1.0)
    made.trial(other, 2, 2.0)
    matrix = only(made)
    cells = by_cell(entries(matrix, Axis.DEVICE))
    old, new = "a (Triton 3.8.0, driver 575)", "a (Triton 3.9.0, driver 575)"
    assert {run for _, run in cells} == {old, new, "b"}
    assert cells["b", old].efficiency == 1.0
    assert cells["b", new].efficiency == pytest.approx(2 / 3)
    across = entries(matrix, Axis.ENVIRONMENT)
    assert len(across) == 4
    assert set(across["group"]) == {"a, M=4096"}
    assert by_cell(across)[
        "Triton 3.8.0, driver 575", "Triton 3.9.0, driver 575"
    ].efficiency == pytest.approx(2 / 3)


def test_over_problems_the_device_and_environment_are_fixed():
    made = Table()
    for problem, times in {"M=16": (1.0, 2.0), "M=64": (4.0, 2.0)}.items():
        for config, ms in enumerate(times):
            made.trial(made.context("a", problem), config, ms)
    made.trial(made.context("b", "M=16"), 0, 1.0)
    cells = by_cell(entries(only(made), Axis.PROBLEM))
    assert len(cells) == 4
    assert cells["M=16", "M=64"].efficiency == 0.5


def test_two_models_of_one_name_get_labels_of_their_own():
    made = Table()
    for model in ("model-1", "other-2"):
        made.trial(made.context("a", device_model_id=model, context_id=model), 1, 1.0)
    frame = entries(only(made), Axis.DEVICE)
    assert set(frame["run_on"]) == {
        "a (Triton triton-3.6, driver 575) (model-)",
        "a (Triton triton-3.6, driver 575) (other-)",
    }


def test_simulated_rows_and_other_protocols_stay_out():
    made = Table()
    made.trial(made.context("a"), 1, 1.0)
    made.trial(made.context("b", source="interpreter"), 1, 1.0)
    made.trial(made.context("c", protocol_id="hot"), 1, 1.0)
    trials, measurements, _ = made.frames()
    found = matrices(trials, measurements)
    assert [[column.device_model for column in m.columns] for m in found] == [["c"], ["a"]]
    assert all(entries(matrix, Axis.DEVICE).empty for matrix in found)


def test_fresh_times_are_held_against_fresh_times():
    made = Table()
    home, away = made.context("a"), made.context("b")
    for config, ms in ((1, 1.0), (2, 1.2), (3, 1.1)):
        made.trial(home, config, ms)
    made.measure(home, 1, "playoff", [1.3, 1.3, 1.3])
    made.measure(home, 2, "playoff", [1.25, 1.25, 1.25])
    made.trial(away, 3, 1.0)
    made.trial(away, 1, 2.0)
    matrix = only(made)
    cells = by_cell(entries(matrix, Axis.DEVICE))
    assert cells["a", "a"].config == Config(c=2)
    assert cells["a", "a"].is_fresh
    assert cells["a", "a"].time_ms == 1.25
    assert matrix.efficiency[matrix.row(Config(c=1).id), 0] == pytest.approx(1.25 / 1.3)
    # Config 3 was seen once, 1.1 ms, when the winner took 1.2 ms: no better than the winner.
    assert cells["b", "a"].efficiency == 1.0
    assert not cells["b", "a"].is_fresh


def test_a_config_given_up_early_counts_as_slow_and_a_disturbed_one_as_unknown():
    made = Table()
    home, away = made.context("a"), made.context("b")
    made.trial(home, 1, 1.0)
    made.trial(away, 2, 1.0)
    made.trial(away, 1, 2.5, state="pruned", is_eligible=False)
    made.measure(away, 1, "screen", [2.5])
    made.trial(home, 2, 1.5, is_eligible=False)
    cells = by_cell(entries(only(made), Axis.DEVICE))
    assert (cells["a", "b"].state, cells["a", "b"].efficiency) == ("measured", 0.4)
    assert (cells["b", "a"].state, cells["b", "a"].reason) == ("not measured", "disturbed")


def test_a_loss_is_real_only_above_the_noise_floor():
    made = Table()
    for device, times in {"a": (1.0, 1.02, 3.0), "b": (1.04, 1.0, 0.9)}.items():
        context = made.context(device)
        for config, ms in enumerate(times):
            made.trial(context, config, ms, low_ms=ms * 0.95, high_ms=ms * 1.05)
    trials, measurements, _ = made.frames()
    found = floors(trials, measurements)
    assert found["look_floor"].tolist() == pytest.approx([0.05 * math.sqrt(2)] * 2)
    cells = by_cell(entries(only(made), Axis.DEVICE, found))
    assert cells["b", "a"].is_real
    assert cells["a", "b"].loss == pytest.approx(1 - 0.9 / 1.04)
    assert cells["a", "b"].is_real
    assert not cells["a", "a"].is_real


def test_a_config_missing_from_a_complete_space_is_outside_it(three):
    matrix = only(three)
    complete = {column.context_id for column in matrix.columns if column.device_model == "c"}
    cells = by_cell(entries(matrix, Axis.DEVICE, complete=complete))
    assert (cells["a", "c"].state, cells["a", "c"].reason) == (
        "not measured",
        "outside the space there",
    )
    assert cells["a", "b"].reason == "launch_error: no kernel image"
