"""The second phase: re-measure the leaders in shuffled, interleaved rounds, and pick by those.

The answer is never the minimum of one pass. The winner is verified once more in a fresh process
before it is believed; if it fails there, it loses its place and the next one is asked.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from autotune_lab.analysis import selection
from autotune_lab.execution.asking import run_job
from autotune_lab.records import MeasureJob, Measurement, Outcome, Phase, Pick, Trial, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.tuning.events import Notice, RoundMeasured, WinnerPicked
from autotune_lab.tuning.opening import OpenContext
from autotune_lab.tuning.screening import Bench


@dataclass(slots=True)
class Playoff:
    """One playoff of one context; ``run`` returns its pick."""

    bench: Bench
    opened: OpenContext

    def run(self) -> Pick:
        """Measure what is missing of the rounds, pick, verify the winner afresh, store the pick.

        A pick that is in the store and younger than every trial is returned as it is: a run can be
        repeated for nothing.

        Raises:
            NoSurvivor: no config ran correctly.
        """
        if stored := self._stored_pick():
            self.bench.observe(WinnerPicked(stored, stored=True))
            return stored
        while True:
            pick = self._pick_once()
            outcome = self._verify_afresh(pick)
            if outcome is None:
                break
            self._demote(pick.config, outcome)
        self.bench.store.add_pick(pick)
        self.bench.observe(WinnerPicked(pick, stored=False))
        return pick

    def _stored_pick(self) -> Pick | None:
        picks = [
            pick
            for pick in self.bench.store.picks(kernel=self.opened.context.kernel.name)
            if pick.context.id == self.opened.id
        ]
        if not picks:
            return None
        newest = max(picks, key=lambda pick: pick.picked_at)
        trials = self.bench.store.trials(self.opened.id)
        is_current = all(trial.finished_at <= newest.picked_at for trial in trials)
        return newest if is_current else None

    def _pick_once(self) -> Pick:
        trials = self.bench.store.trials(self.opened.id)
        protocol = self.opened.context.protocol
        default = self.opened.definition.default_config
        candidates = selection.candidates(trials, protocol, default)
        rounds: frozenset[int] | None = None
        if len(candidates) > 1:
            rounds = self._play(candidates, trials)
            trials = self.bench.store.trials(self.opened.id)
        return selection.decide(
            self.opened.context,
            trials,
            default=default,
            space_size=len(self.opened.space),
            rounds=rounds,
            floor_ms=self.opened.floor_ms,
            picked_at=datetime.now(UTC).isoformat(),
        )

    def _play(self, candidates: Sequence[Config], trials: Sequence[Trial]) -> frozenset[int]:
        """Bring the rounds up to their number; rounds that an interrupted run stored are kept."""
        done = _rounds_by_number(trials)
        wanted = {config.id for config in candidates}
        ids = {trial.config.id: trial for trial in trials if trial.state is TrialState.OK}
        usable = {number for number, configs in done.items() if wanted <= configs}
        last = max(done, default=0)
        protocol = self.opened.context.protocol
        number = last if last and last not in usable else last + 1
        while len(usable) < protocol.playoff_rounds and wanted:
            order = [c for c in candidates if c.id in wanted - done.get(number, set())]
            random.Random(f"{protocol.seed}:{number}").shuffle(order)
            for config in order:
                trial = ids[config.id]
                outcome = self._measure(config, number, verify=False)
                if outcome.state is TrialState.OK and outcome.measurement is not None:
                    self._keep(trial, outcome.measurement)
                else:
                    self._demote(config, outcome)
                    wanted.discard(config.id)
            usable.add(number)
            self.bench.observe(
                RoundMeasured(
                    self.opened.context, len(usable), protocol.playoff_rounds, len(wanted)
                )
            )
            self.bench.store.heartbeat(self.bench.run_id)
            number += 1
        return frozenset(usable)

    def _measure(self, config: Config, number: int, *, verify: bool) -> Outcome:
        job = MeasureJob(
            kernel=self.opened.reference,
            problem=self.opened.context.problem,
            config=config,
            protocol=self.opened.context.protocol,
            phase=Phase.PLAYOFF,
            round=number,
            verify=verify,
        )
        return run_job(self.bench.executor, job)

    def _keep(self, trial: Trial, measurement: Measurement) -> None:
        if trial.id is not None:
            self.bench.store.add_measurement(trial.id, measurement)

    def _verify_afresh(self, pick: Pick) -> Outcome | None:
        """Return what is wrong with the winner in a process that has run nothing else, or None."""
        self.bench.executor.close()
        self.bench.executor.start()
        outcome = self._measure(pick.config, 0, verify=True)
        return None if outcome.state is TrialState.OK else outcome

    def _demote(self, config: Config, outcome: Outcome) -> None:
        self.bench.observe(
            Notice(f"{config} fell out of the playoff: {outcome.state}: {outcome.reason}")
        )
        for trial in self.bench.store.trials(self.opened.id):
            if trial.config == config and trial.state is TrialState.OK and trial.id is not None:
                self.bench.store.demote(trial.id, outcome)


def _rounds_by_number(trials: Sequence[Trial]) -> dict[int, set[str]]:
    """Map each stored playoff round to the ids of the configs measured in it."""
    rounds: dict[int, set[str]] = {}
    for trial in trials:
        for measurement in trial.measurements:
            if measurement.phase is Phase.PLAYOFF and measurement.round > 0:
                rounds.setdefault(measurement.round, set()).add(trial.config.id)
    return rounds
