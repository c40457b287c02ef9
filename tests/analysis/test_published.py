"""The analysis of published tables, against a plain computation that shares no code with it."""

import gzip
import itertools
import json
import math
from pathlib import Path

import pytest

from autotune_lab.analysis.matrix import matrices
from autotune_lab.analysis.portability import Over, Rule, leave_one_out, portable, scores
from autotune_lab.analysis.portfolio import Objective, portfolios
from autotune_lab.analysis.transfer import Axis, entries, table
from autotune_lab.spaces.config import Config
from tests.analysis.making import Table

TABLES = Path(__file__).parents[2].parent / "shared" / "tables"
FLEETS = {
    "convolution": ["A4000", "W6600"],
    "convolutionbat": ["RTX2080Ti", "RTX3090"],
    "dedispersion": ["A100", "A6000", "MI250X"],
    "gemmbat": ["RTX2080Ti", "TITANRTX"],
}
SMALL = {
    "x": {1: 1.0, 2: 1.5, 3: 2.0, 4: 4.0},
    "y": {1: 9.0, 2: 3.0, 3: 2.0, 4: None},
    "z": {1: 2.0, 2: 2.5, 3: 10.0, 4: 1.0},
}


def published(kernel):
    """Return device -> {values of the parameters: ms or None}."""
    fleet = {}
    for device in FLEETS[kernel]:
        with gzip.open(TABLES / f"{kernel}-{device}.json.gz") as file:
            rows = json.load(file)["rows"]
        fleet[device] = {tuple(row[:-1]): row[-1] for row in rows}
    return fleet


def by_hand(fleet):
    """Return best times, the transfer matrix, PP by config, and who was measured everywhere."""
    best = {device: min(ms for ms in times.values() if ms) for device, times in fleet.items()}
    winner = {
        device: min((ms, key) for key, ms in fleet[device].items() if ms)[1] for device in fleet
    }

    def efficiency(key, device):
        ms = fleet[device][key]
        return best[device] / ms if ms else 0.0

    transfer = {(a, b): efficiency(winner[a], b) for a in fleet for b in fleet}
    pp, worst = {}, {}
    for key in set.intersection(*(set(times) for times in fleet.values())):
        found = [efficiency(key, device) for device in fleet]
        pp[key] = 0.0 if 0.0 in found else len(found) / math.fsum(1 / e for e in found)
        worst[key] = min(found)
    return efficiency, transfer, pp, worst


def matrix_of(fleet):
    made = Table()
    for device, times in fleet.items():
        context = made.context(device)
        for key, ms in times.items():
            values = key if isinstance(key, tuple) else (key,)
            config = Config({f"p{place}": value for place, value in enumerate(values)})
            made.trial(context, config, ms)
    (matrix,) = matrices(*made.frames()[:2])
    return matrix


def key_of(config):
    values = tuple(config[f"p{place}"] for place in range(len(config)))
    return values if len(values) > 1 else values[0]


def check(fleet):
    efficiency, transfer, pp, worst = by_hand(fleet)
    matrix = matrix_of(fleet)
    found = table(entries(matrix, Axis.DEVICE))
    for (tuned, run), expected in transfer.items():
        assert found.loc[tuned, run] == pytest.approx(expected, abs=1e-9)

    by_config = scores(matrix).set_index("config_id")["performance_portability"]
    configs = {key_of(config): config.id for config in matrix.configs}
    assert {key: by_config[configs[key]] for key in pp} == pytest.approx(pp, abs=1e-9)
    best_pp = portable(matrix, Rule.PERFORMANCE_PORTABILITY)
    assert best_pp.performance_portability == pytest.approx(max(pp.values()), abs=1e-9)
    assert pp[key_of(best_pp.config)] == max(pp.values())
    careful = portable(matrix, Rule.MINIMAX)
    assert 1 - careful.worst_loss == pytest.approx(max(worst.values()), abs=1e-9)

    one, *more = portfolios(matrix)
    assert one.is_exact
    assert one.worst_loss == pytest.approx(1 - max(worst.values()), abs=1e-9)
    assert more[-1].worst_loss == pytest.approx(0.0, abs=1e-9) if more else True
    one_mean = portfolios(matrix, Objective.MEAN)[0]
    means = [sum(efficiency(key, device) for device in fleet) / len(fleet) for key in pp]
    assert one_mean.mean_loss == pytest.approx(1 - max(means), abs=1e-9)
    for left_out, row in leave_one_out(matrix, Over.DEVICE).set_index("left_out").iterrows():
        loss = 1 - efficiency(key_of(row["config"]), left_out)
        assert row["held_out_worst_loss"] == pytest.approx(loss, abs=1e-9)
    return efficiency, matrix


def check_pairs(efficiency, matrix, fleet):
    """Compare portfolios of two with every pair of configs that no other beats everywhere."""
    keys = set.intersection(*(set(times) for times in fleet.values()))
    front = []
    rows = {tuple(efficiency(key, device) for device in fleet) for key in keys}
    for row in sorted(rows, key=sum, reverse=True):
        if not any(all(map(float.__ge__, other, row)) for other in front):
            front.append(row)
    served = [tuple(map(max, a, b)) for a, b in itertools.combinations_with_replacement(front, 2)]
    found = portfolios(matrix)
    expected = 1 - max(min(values) for values in served)
    assert found[min(1, len(found) - 1)].worst_loss == pytest.approx(expected, abs=1e-9)
    by_mean = portfolios(matrix, Objective.MEAN)
    expected = 1 - max(sum(values) / len(values) for values in served)
    assert by_mean[min(1, len(by_mean) - 1)].mean_loss == pytest.approx(expected, abs=1e-9)


def test_a_small_table_by_hand():
    efficiency, matrix = check(SMALL)
    check_pairs(efficiency, matrix, SMALL)
    found = table(entries(matrix, Axis.DEVICE))
    assert found.loc["x"].tolist() == pytest.approx([1.0, 2 / 9, 0.5])
    assert found.loc["z"].tolist() == pytest.approx([0.25, 0.0, 1.0])
    best = portable(matrix, Rule.PERFORMANCE_PORTABILITY)
    assert key_of(best.config) == 2
    assert best.performance_portability == pytest.approx(3 / (1.5 + 1.5 + 2.5))


@pytest.mark.skipif(not TABLES.is_dir(), reason="the published tables are not here")
@pytest.mark.parametrize("kernel", list(FLEETS))
def test_published_tables_equal_a_plain_computation(kernel):
    fleet = published(kernel)
    efficiency, matrix = check(fleet)
    if kernel == "dedispersion":
        check_pairs(efficiency, matrix, fleet)
