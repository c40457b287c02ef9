"""Measures the rounds of a playoff: shuffled, each whole on one device, several devices at once.

Configs are compared within a round only, so a faster card never makes a faster config.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from autotune_lab.execution.base import Unit
from autotune_lab.records import MeasureJob, Outcome, Phase, Trial, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.tuning.bench import Bench, Steps
from autotune_lab.tuning.events import RoundMeasured
from autotune_lab.tuning.opening import OpenContext


@dataclass(slots=True)
class _Round:
    """A round that is being measured."""

    number: int
    unit: Unit
    left: list[Config]
    running: Config | None = None


@dataclass(slots=True)
class Rounds:
    """The rounds of one playoff.

    Attributes:
        trials: all of the context, with the rounds that an interrupted run stored.
        demote: told of a config that fails now.
        aside: devices that measure none.
    """

    bench: Bench
    opened: OpenContext
    candidates: Sequence[Config]
    trials: Sequence[Trial]
    demote: Callable[[Config, Outcome], None]
    aside: frozenset[str] = frozenset()
    _stored: dict[int, dict[str, str]] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)
    _usable: dict[int, str] = field(default_factory=dict)
    _playing: list[_Round] = field(default_factory=list)
    _last: int = 0

    def steps(self) -> Steps[frozenset[int]]:
        """Bring the rounds up to their number; return the numbers of those that are whole."""
        self._resume()
        while True:
            self._fill()
            if not self._playing and (self._missing() <= 0 or not self._wanted):
                return frozenset(self._usable)
            yield
            self._collect()

    def _resume(self) -> None:
        self._wanted = {config.id for config in self.candidates}
        for trial in self.trials:
            for measurement in trial.measurements:
                if measurement.phase is Phase.PLAYOFF and measurement.round > 0:
                    where = measurement.device_uuid or trial.device_uuid
                    self._stored.setdefault(measurement.round, {})[trial.config.id] = where
        for number, places in self._stored.items():
            if self._wanted <= places.keys():
                self._usable[number] = next(iter(places.values()))
        self._last = max(self._stored, default=0)

    def _missing(self) -> int:
        return self.opened.context.protocol.playoff_rounds - len(self._usable) - len(self._playing)

    def _fill(self) -> None:
        free = [unit for unit in self.bench.units if unit.uuid not in self.aside]
        for unit in free:
            if unit.executor.busy:
                continue
            mine = next((each for each in self._playing if each.unit is unit), None)
            while mine is not None or self._may_begin(unit, free):
                mine = mine or self._begin(unit)
                if self._go_on(mine):
                    break
                mine = None

    def _may_begin(self, unit: Unit, free: Sequence[Unit]) -> bool:
        """Share the rounds out evenly, so that all devices measure every candidate."""
        if self._missing() <= 0 or not self._wanted:
            return False
        taken = {each.uuid: 0 for each in free}
        for uuid in [*self._usable.values(), *(each.unit.uuid for each in self._playing)]:
            if uuid in taken:
                taken[uuid] += 1
        fair = math.ceil(self.opened.context.protocol.playoff_rounds / len(free))
        return taken[unit.uuid] < fair or taken[unit.uuid] == min(taken.values())

    def _begin(self, unit: Unit) -> _Round:
        """Begin a round, or go on with the last one if an interrupted run left it on this unit."""
        places = self._stored.get(self._last, {})
        is_cut = self._last > 0 and self._last not in self._usable
        if not (is_cut and set(places.values()) == {unit.uuid} and self._is_unclaimed()):
            self._last += 1
            places = {}
        order = [c for c in self.candidates if c.id in self._wanted and c.id not in places]
        random.Random(f"{self.opened.context.protocol.seed}:{self._last}").shuffle(order)
        begun = _Round(self._last, unit, order)
        self._playing.append(begun)
        return begun

    def _is_unclaimed(self) -> bool:
        return self._last in self._stored and all(r.number != self._last for r in self._playing)

    def _go_on(self, mine: _Round) -> bool:
        """Submit the round's next config; False when there is none, and the round is whole."""
        while mine.left:
            config = mine.left.pop(0)
            if config.id in self._wanted:
                mine.running = config
                mine.unit.executor.submit(playoff_job(self.opened, config, mine.number))
                return True
        self._playing.remove(mine)
        self._usable[mine.number] = mine.unit.uuid
        rounds = self.opened.context.protocol.playoff_rounds
        self.bench.observe(
            RoundMeasured(self.opened.context, len(self._usable), rounds, len(self._wanted))
        )
        self.bench.store.heartbeat(self.bench.run_id)
        return False

    def _collect(self) -> None:
        for mine in list(self._playing):
            outcome = mine.unit.executor.collect()
            if outcome is None or mine.running is None:
                continue
            config, mine.running = mine.running, None
            if outcome.state is TrialState.INTERRUPTED:
                # Its device is gone, and no other may finish the round.
                self._playing.remove(mine)
                self._stored.pop(mine.number, None)
            elif outcome.state is TrialState.OK and outcome.measurement is not None:
                taken = replace(outcome.measurement, device_uuid=mine.unit.uuid)
                for trial in self.trials:
                    if trial.config == config and trial.state is TrialState.OK and trial.id:
                        self.bench.store.add_measurement(trial.id, taken)
            else:
                self._wanted.discard(config.id)
                self.demote(config, outcome)


def playoff_job(
    opened: OpenContext, config: Config, number: int, *, verify: bool = False
) -> MeasureJob:
    """Return the job that measures a config in a round; 0 is no round."""
    return MeasureJob(
        kernel=opened.reference,
        problem=opened.context.problem,
        config=config,
        protocol=opened.context.protocol,
        phase=Phase.PLAYOFF,
        round=number,
        verify=verify,
    )
