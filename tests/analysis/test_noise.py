import math

import numpy as np
import pytest

from autotune_lab.analysis.noise import floors
from tests.analysis.making import Table


def test_rounds_give_the_spread_of_medians_and_of_passes():
    rng = np.random.default_rng(0)
    made = Table()
    context = made.context("a")
    for config in range(12):
        look = 1 + config / 100
        made.trial(context, config, look * (1 + 0.05 * rng.standard_normal()))
        made.measure(context, config, "playoff", look * (1 + 0.01 * rng.standard_normal(9)))
    row = floors(*made.frames()[:2]).loc[context]
    assert row["rounds_floor"] == pytest.approx(1.96 * 1.2533 * 0.01 * math.sqrt(2 / 9), rel=0.3)
    assert row["look_floor"] == pytest.approx(1.96 * math.sqrt(2) * 0.05, rel=0.6)
    assert row["look_method"] == "remeasured"


def test_without_rounds_the_intervals_speak_and_without_those_nothing_does():
    made = Table()
    known, unknown = made.context("a"), made.context("b")
    for config, ms in enumerate((1.0, 1.2, 9.0)):
        made.trial(known, config, ms, low_ms=ms * 0.99, high_ms=ms * (1.01 if ms < 2 else 3))
        made.trial(unknown, config, ms)
    found = floors(*made.frames()[:2])
    assert found.loc[known, "look_floor"] == pytest.approx(0.01 * math.sqrt(2))
    assert found.loc[known, "look_method"] == "intervals"
    assert math.isnan(found.loc[known, "rounds_floor"])
    assert math.isnan(found.loc[unknown, "look_floor"])
    assert floors(made.frames()[0]).equals(found)


def test_two_configs_in_two_rounds_are_enough_and_one_is_not():
    made = Table()
    pair, single = made.context("a"), made.context("b")
    for config in (0, 1):
        made.trial(pair, config, 1.0)
        made.measure(pair, config, "playoff", [1.0, 1.0])
    made.trial(single, 0, 1.0)
    made.measure(single, 0, "playoff", [1.0, 1.1, 1.2])
    found = floors(*made.frames()[:2])
    assert found.loc[pair, "rounds_floor"] == 0
    assert math.isnan(found.loc[single, "rounds_floor"])
