"""Compares the devices of a bench by a config that each of them measures: a bad card wins nothing.

The first config that runs is measured a few times more on every device, that one included. A device
whose times are off is corrected for where trials of several devices are compared; one that is far
off among three or more measures nothing more here. Both are said, and stored as measurements.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autotune_lab.analysis import levels
from autotune_lab.analysis.levels import Level
from autotune_lab.records import MeasureJob, Outcome, Phase, Trial, TrialState
from autotune_lab.tuning.bench import Bench
from autotune_lab.tuning.events import Notice
from autotune_lab.tuning.opening import OpenContext

ROUNDS = 3


@dataclass(slots=True)
class Levelling:
    """What is known of how a context's devices differ; ``due`` says what is still to be measured.

    Attributes:
        aside: devices that measure nothing more.
        corrections: device -> by what its times are divided to be comparable.
    """

    bench: Bench
    opened: OpenContext
    aside: frozenset[str] = frozenset()
    corrections: dict[str, float] = field(default_factory=dict)
    _reference: Trial | None = None
    _done: dict[str, int] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def learn(self, trial: Trial) -> None:
        """Take a trial of this context into account, stored or just measured."""
        taken = [m for m in trial.measurements if m.phase is Phase.CALIBRATION]
        if trial.is_eligible and (self._reference is None or taken):
            self._reference = trial
        for measurement in taken:
            unit = measurement.device_uuid
            self._done[unit] = max(self._done.get(unit, 0), measurement.round)

    def due(self, unit: str) -> MeasureJob | None:
        """Return what a device must measure before it is given trials; None when it is known."""
        if self._reference is None or len({each.uuid for each in self.bench.units}) < 2:
            return None
        if self._done.get(unit, 0) >= ROUNDS:
            return None
        context = self.opened.context
        return MeasureJob(
            kernel=self.opened.reference,
            problem=context.problem,
            config=self._reference.config,
            protocol=context.protocol,
            phase=Phase.CALIBRATION,
            round=self._done.get(unit, 0) + 1,
            verify=False,
        )

    def keep(self, unit: str, outcome: Outcome) -> None:
        """Store what ``due`` asked for; a device that fails it is asked no more."""
        if outcome.state is TrialState.INTERRUPTED:
            return
        number = self._done.get(unit, 0) + 1
        if outcome.state is not TrialState.OK or outcome.measurement is None:
            self._done[unit] = ROUNDS
            return
        assert self._reference is not None
        assert self._reference.id is not None
        taken = replace(
            outcome.measurement, phase=Phase.CALIBRATION, round=number, device_uuid=unit
        )
        self.bench.store.add_measurement(self._reference.id, taken)
        self._done[unit] = number
        if number == ROUNDS:
            self.judge(self.bench.store.trials(self.opened.id, states=[TrialState.OK]))

    def judge(self, trials: Sequence[Trial]) -> None:
        """Compare the devices by all that is stored of this context."""
        found = levels.of_trials(trials)
        self.corrections = dict(levels.corrections(found))
        self.aside = levels.set_aside(found)
        for level in found:
            if level.is_systematic and level.unit not in self._told:
                self._told.add(level.unit)
                self.bench.observe(Notice(self._said(level)))

    def _said(self, level: Level) -> str:
        kind = "slower" if level.ratio > 1 else "faster"
        what = (
            "it measures no more here"
            if level.unit in self.aside
            else "its times are corrected for before they are compared with others'"
        )
        return (
            f"{self.opened.context.label}: device {level.unit} is {abs(level.ratio - 1):.1%} "
            f"{kind} than its like (99% interval {level.low - 1:+.1%} to {level.high - 1:+.1%}); "
            f"{what}"
        )
