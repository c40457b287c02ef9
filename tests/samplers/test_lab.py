"""The lab's sampler finds the best among cliffs, stops by itself, and learns from others."""

import numpy as np
import pytest

from autotune_lab import Space
from autotune_lab.records import TrialState
from autotune_lab.samplers import lab, random
from autotune_lab.samplers.base import Observation, PriorTask
from autotune_lab.samplers.lab.encoding import Encoding
from autotune_lab.samplers.lab.feasibility import chance_to_run
from autotune_lab.samplers.lab.neighbourhood import Neighbourhood
from autotune_lab.samplers.lab.prior import Prior
from autotune_lab.samplers.lab.targets import capped_logarithms
from autotune_lab.spaces.parameter import Parameter
from autotune_lab.testing.samplers import search

SPACE = (
    Space(
        BLOCK_M=[16, 32, 64, 128, 256],
        BLOCK_N=[16, 32, 48, 64, 96, 128, 192, 256],
        num_warps=[1, 2, 4, 8, 16],
        num_stages=[1, 2, 3, 4, 5],
        ORDER=["row", "column"],
    )
    .where("BLOCK_M * BLOCK_N >= 64 * num_warps")
    .bind({})
)


def time_ms(config, *, m=128, n=64):
    """A made-up GPU that likes one tile, dislikes uneven ones, and lacks room for large ones."""
    tile = config["BLOCK_M"] * config["BLOCK_N"]
    if tile * config["num_stages"] > 2**17:
        return None
    distance = (
        abs(np.log2(config["BLOCK_M"] / m))
        + abs(np.log2(config["BLOCK_N"] / n))
        + abs(np.log2(tile / config["num_warps"] / 2048))
        + 0.3 * abs(config["num_stages"] - 3)
    )
    is_even = config["BLOCK_N"] & (config["BLOCK_N"] - 1) == 0
    return float(1.0 + 0.2 * distance + (config["ORDER"] == "row") + 2.0 * (not is_even))


def judge(config, **device):
    found = time_ms(config, **device)
    state = TrialState.OUT_OF_RESOURCES if found is None else TrialState.OK
    return Observation(config, state, found)


def best_ms(history):
    return min(o.time_ms for o in history if o.time_ms is not None)


OPTIMUM_MS = min(time for config in SPACE if (time := time_ms(config)) is not None)


def prior_of(configs, **device):
    return PriorTask(list(configs), [time_ms(config, **device) for config in configs], "elsewhere")


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_optimum_in_a_twentieth_of_the_space(seed):
    assert best_ms(search(lab.create(seed), SPACE, judge, SPACE.size // 20)) == OPTIMUM_MS


def test_batches_cost_little():
    alone, batched = (
        np.mean([best_ms(search(lab.create(s), SPACE, judge, 40, batch)) for s in range(4)])
        for batch in (1, 8)
    )
    by_chance = np.mean([best_ms(search(random.create(s), SPACE, judge, 40)) for s in range(4)])
    assert batched < by_chance
    assert batched <= 1.2 * alone


def test_stops_by_itself_only_when_asked_to():
    sampler = lab.create(0, noise_floor=0.01)
    stopped = search(sampler, SPACE, judge, SPACE.size)
    assert len(stopped) < SPACE.size // 8
    assert best_ms(stopped) <= 1.01 * OPTIMUM_MS
    assert "the noise floor" in sampler.stopped_because
    assert len(search(lab.create(0), SPACE, judge, len(stopped) + 20)) == len(stopped) + 20


def test_a_prior_is_tried_first_and_helps():
    prior = [prior_of(SPACE, m=64)]
    warm = search(lab.create(1, prior=prior), SPACE, judge, 12)
    assert best_ms(warm) < best_ms(search(lab.create(1), SPACE, judge, 12))
    assert best_ms([judge(warm[0].config, m=64)]) == min(
        t for c in SPACE if (t := time_ms(c, m=64)) is not None
    )


def test_a_part_of_another_context_is_enough():
    rows = np.random.default_rng(3).choice(SPACE.size, 150, replace=False)
    prior = [prior_of([SPACE.config(row) for row in rows], m=64)]
    assert best_ms(search(lab.create(1, prior=prior), SPACE, judge, 40)) <= 1.1 * OPTIMUM_MS


def test_a_misleading_prior_is_unlearnt():
    inverted = [None if (t := time_ms(config)) is None else 1.0 / t for config in SPACE]
    prior = [PriorTask(list(SPACE), inverted)]
    assert best_ms(search(lab.create(2, prior=prior), SPACE, judge, 60)) <= 1.1 * OPTIMUM_MS


def test_a_prior_without_common_configs_changes_nothing():
    foreign = list(Space(OTHER=list(range(50))).bind({}))
    prior = [PriorTask(foreign, [1.0] * len(foreign))]
    with_it = search(lab.create(4, prior=prior), SPACE, judge, 20)
    assert with_it == search(lab.create(4), SPACE, judge, 20)


def test_starters_hold_the_best_config_of_each_source():
    sources = [prior_of(SPACE, m=m, n=n) for m, n in ((16, 256), (256, 16), (64, 64))]
    prior = Prior.of(sources, SPACE, Encoding(SPACE), 0)
    assert (prior.losses[:, list(prior.starters)].min(axis=1) == 0.0).all()


def test_neighbourhoods_hold_valid_rows_only_and_match_brute_force():
    near = Neighbourhood(SPACE)
    for row in (0, 17, SPACE.size - 1):
        changes = (SPACE.codes != SPACE.codes[row]).sum(axis=1)
        assert list(near.around(row)) == list(np.flatnonzero(changes == 1))
        stepped = {SPACE.index(config) for config in SPACE.neighbours(SPACE.config(row))}
        assert set(near.beside(row).tolist()) == stepped
    mutants = near.mutants(np.array([5, 100]), np.random.default_rng(0), 50)
    assert len(mutants) == len(set(mutants.tolist()))
    assert mutants.max() < SPACE.size


def test_failures_count_as_slow_and_slow_ones_are_cut_off():
    targets = capped_logarithms(np.array([1.0, 2.0, np.nan, 4.0, 1000.0]))
    assert targets == pytest.approx(np.log([1.0, 2.0, 9.0, 4.0, 9.0]), abs=0.3)
    assert targets[2] == targets[4] == targets.max()


def test_uneven_numbers_are_told_from_powers_of_two():
    space = Space(BLOCK=[32, 48, 64, 96], SPLIT=[1, 2, 3], ODD=[33, 65]).bind({})
    points = Encoding(space).points(np.arange(space.size))
    assert points.shape[1] == len(space.parameters) + 1
    blocks = [config["BLOCK"] for config in space]
    assert [value > 0 for value in points[:, -1]] == [block in (48, 96) for block in blocks]


def test_tiles_are_told_by_what_a_warp_holds_of_them():
    space = Space(
        BLOCK_M=[32, 64, 128],
        BLOCK_N=[32, 64, 128],
        BLOCK_K=[64, 128],
        SPLIT_K=[1, 2],
        num_warps=[4, 8],
        num_stages=[2, 32],
    ).bind({})
    points = Encoding(space).points(np.arange(space.size))
    assert points.shape[1] == len(space.parameters) + 3  # three pairs of sides
    held = [config["BLOCK_M"] * config["BLOCK_N"] / config["num_warps"] for config in space]
    trait = points[:, len(space.parameters)]
    steps = np.diff(trait[np.argsort(held, kind="stable")])
    assert (steps >= 0).all()
    assert len(np.unique(trait.round(9))) == len(set(held))


@pytest.mark.parametrize(
    "space",
    [
        Space(BLOCK=[64, 128], num_warps=Parameter("num_warps", [4, 8], ordered=False)),
        Space(BLOCK=["a", "b"], num_warps=[4, 8]),
        Space(num_warps=[4, 8]),
        Space(BLOCK=[64, 128], TILE=[32, 64]),
    ],
    ids=["warps are names", "no sizes", "nothing but warps", "no warps"],
)
def test_spaces_without_tiles_per_warp_have_no_such_traits(space):
    bound = space.bind({})
    encoding = Encoding(bound)
    assert encoding.points(np.arange(bound.size)).shape[1] == len(encoding.owners)
    assert encoding.owners.max() + 1 == len(bound.parameters)


def test_the_first_config_of_a_triton_space_is_near_its_middle():
    (first,) = lab.create(0).propose(SPACE, [], [], 1)
    middle = [abs(SPACE.parameters[i].values.index(first[n]) - (2, 3.5, 2, 2)[i])
              for i, n in enumerate(("BLOCK_M", "BLOCK_N", "num_warps", "num_stages"))]  # fmt: skip
    assert sum(middle) <= 4


def is_too_large(config):
    return config["BLOCK_M"] * config["BLOCK_N"] * config["num_stages"] > 2**15


def test_chances_follow_what_failed():
    failing = np.array([is_too_large(config) for config in SPACE])
    rng = np.random.default_rng(0)
    tried = rng.choice(SPACE.size, 100, replace=False)
    ran = ~failing[tried]
    chances = chance_to_run(Encoding(SPACE), tried, ran, np.arange(SPACE.size), rng)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert chances[failing].mean() < 0.3
    assert chances[~failing].mean() > 0.8
    unbroken = chance_to_run(Encoding(SPACE), tried[ran], ran[ran], np.arange(5), rng)
    assert list(unbroken) == [1.0] * 5


def test_the_border_of_what_fails_draws_few_proposals():
    def judge_small(config):
        if is_too_large(config):
            return Observation(config, TrialState.OUT_OF_RESOURCES)
        return judge(config)

    history = search(lab.create(6), SPACE, judge_small, 120)
    late = [observation.time_ms is None for observation in history[60:]]
    assert np.mean(late) <= 0.3
