"""What every sampler must hold, as tests: subclass and say how one is made.

Example:
    class TestMine(SamplerConformance):
        def create(self, seed):
            return mine.create(seed)
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from autotune_lab.records import TrialState
from autotune_lab.samplers.base import Observation, Sampler
from autotune_lab.spaces.bound import BoundSpace
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import Space

Judge = Callable[[Config], Observation]


def tiled_space() -> BoundSpace:
    """Return a small space with ordered numbers, a switch, names and a constraint."""
    space = Space(
        BLOCK_M=[16, 32, 64, 128],
        BLOCK_N=[16, 32, 64, 128],
        num_warps=[1, 2, 4, 8],
        PADDED=[False, True],
        ORDER=["row", "column", "tile"],
    ).where("BLOCK_M * BLOCK_N >= 256 * num_warps")
    return space.bind({})


def measured(config: Config) -> Observation:
    """Pretend to measure: the best tile is 64 x 32 with 4 warps, and the largest tiles fail."""
    m, n, warps = (float(str(config[name])) for name in ("BLOCK_M", "BLOCK_N", "num_warps"))
    if m * n > 8192:
        return Observation(config, TrialState.OUT_OF_RESOURCES)
    steps = abs(np.log2(m / 64)) + abs(np.log2(n / 32)) + abs(np.log2(warps / 4))
    names = 0.1 * (config["PADDED"] is False) + 0.2 * (config["ORDER"] != "column")
    return Observation(config, TrialState.OK, time_ms=float(1.0 + steps + names))


def failed(config: Config) -> Observation:
    """Pretend that nothing runs here."""
    return Observation(config, TrialState.COMPILE_ERROR)


def search(
    sampler: Sampler, space: BoundSpace, judge: Judge, trials: int, batch: int = 1
) -> list[Observation]:
    """Return what a plain loop of up to so many trials would store."""
    history: list[Observation] = []
    while len(history) < trials:
        configs = sampler.propose(space, history, [], min(batch, trials - len(history)))
        if not configs:
            break
        history.extend(judge(config) for config in configs)
    return history


class SamplerConformance:
    """Obligations of ``samplers.base.Sampler``; pytest collects them from a subclass."""

    @abstractmethod
    def create(self, seed: int) -> Sampler:
        """Return a new sampler."""

    def test_proposes_each_valid_config_once_and_stops(self) -> None:
        """Nothing is left out, repeated or invalid, and the end has a reason."""
        space, sampler = tiled_space(), self.create(0)
        history = search(sampler, space, measured, 2 * space.size, batch=7)
        rows = [space.index(observation.config) for observation in history]
        assert sorted(rows) == list(range(space.size))
        assert getattr(sampler, "stopped_because", "")

    def test_never_proposes_what_is_pending(self) -> None:
        """A config that is still being measured is not proposed again."""
        space, sampler = tiled_space(), self.create(1)
        history = search(sampler, space, measured, 20)
        pending: list[Config] = []
        for count in (1, 3, 8, 5):
            configs = sampler.propose(space, history, pending, count)
            assert len(configs) == count
            assert not set(configs) & {*pending, *(o.config for o in history)}
            assert len(set(configs)) == count
            pending.extend(configs)
        history.extend(measured(config) for config in pending)
        assert not set(sampler.propose(space, history, [], 4)) & {o.config for o in history}

    def test_waits_for_what_is_pending_before_it_stops(self) -> None:
        """With the rest of the space pending there is nothing to propose, but it is no end yet."""
        space, sampler = tiled_space(), self.create(2)
        everything = [space.config(row) for row in range(space.size)]
        assert sampler.propose(space, [], everything, 3) == []

    def test_is_a_function_of_its_seed(self) -> None:
        """Two samplers of one seed agree, and leave the global random numbers alone."""
        space = tiled_space()
        state = np.random.get_state(legacy=True)  # noqa: NPY002 -- what must not change
        first, second = (search(self.create(3), space, measured, 40, batch=2) for _ in range(2))
        assert [o.config for o in first] == [o.config for o in second]
        after = np.random.get_state(legacy=True)  # noqa: NPY002
        assert repr(state) == repr(after)

    def test_goes_on_from_a_stored_history(self) -> None:
        """A new sampler that is given what an earlier one tried repeats none of it."""
        space = tiled_space()
        history = search(self.create(4), space, measured, 30)
        configs = self.create(5).propose(space, history, [], 10)
        assert len(set(configs)) == 10
        assert not set(configs) & {observation.config for observation in history}

    def test_goes_on_when_everything_fails(self) -> None:
        """A space in which nothing runs is walked to its end."""
        space = tiled_space()
        assert len(search(self.create(6), space, failed, space.size, batch=5)) == space.size

    def test_takes_a_space_of_one_config(self) -> None:
        """There is one proposal, then the end."""
        space = Space(BLOCK=[64]).bind({})
        history = search(self.create(7), space, _constant, 5)
        assert [o.config for o in history] == [Config(BLOCK=64)]

    def test_takes_equal_times_and_interrupted_trials(self) -> None:
        """Neither a flat space nor trials without a result end the search."""
        space, sampler = tiled_space(), self.create(8)
        history: list[Observation] = []
        for number in range(40):
            (config,) = sampler.propose(space, history, [], 1)
            state = TrialState.INTERRUPTED if number % 3 == 0 else TrialState.OK
            history.append(Observation(config, state, None if number % 3 == 0 else 1.0))
        assert len({observation.config for observation in history}) == 40


def _constant(config: Config) -> Observation:
    return Observation(config, TrialState.OK, time_ms=1.0)
