"""The second phase: re-measure the leaders in shuffled, interleaved rounds, and pick by those.

The answer is never the minimum of one pass. The winner is verified once more in a fresh process
before it is believed; if it fails there, it loses its place and the next one is asked.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from autotune_lab.analysis import levels, selection
from autotune_lab.records import Outcome, Pick, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.tuning.bench import Bench, Steps
from autotune_lab.tuning.events import Notice, WinnerPicked
from autotune_lab.tuning.opening import OpenContext
from autotune_lab.tuning.rounds import Rounds, playoff_job


@dataclass(slots=True)
class Playoff:
    """One playoff of one context; ``run`` returns its pick."""

    bench: Bench
    opened: OpenContext

    def run(self) -> Pick:
        """Do all of ``steps``, alone.

        Raises:
            NoSurvivor: no config ran correctly.
        """
        return self.bench.finish(self.steps())

    def steps(self) -> Steps[Pick]:
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
            pick = yield from self._pick_once()
            outcome = yield from self._verify_afresh(pick)
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

    def _pick_once(self) -> Steps[Pick]:
        trials = self.bench.store.trials(self.opened.id)
        protocol = self.opened.context.protocol
        default = self.opened.definition.default_config
        corrections = levels.corrections(levels.of_trials(trials))
        candidates = selection.candidates(trials, protocol, default, corrections=corrections)
        rounds: frozenset[int] | None = None
        if len(candidates) > 1:
            rounds = yield from Rounds(
                bench=self.bench,
                opened=self.opened,
                candidates=candidates,
                trials=trials,
                demote=self._demote,
                aside=self._aside(),
            ).steps()
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

    def _aside(self) -> frozenset[str]:
        """Name the devices that are not to be believed, as long as there are others."""
        trials = self.bench.store.trials(self.opened.id, states=[TrialState.OK])
        return levels.set_aside(levels.of_trials(trials))

    def _verify_afresh(self, pick: Pick) -> Steps[Outcome | None]:
        """Return what is wrong with the winner in a process that has run nothing else, or None."""
        job = playoff_job(self.opened, pick.config, 0, verify=True)
        aside = self._aside()
        while True:
            free = [u for u in self.bench.units if u.uuid not in aside and not u.executor.busy]
            if not free:
                yield
                continue
            executor = free[0].executor
            executor.renew()
            executor.submit(job)
            while (outcome := executor.collect()) is None:
                yield
            if outcome.state is not TrialState.INTERRUPTED:
                return None if outcome.state is TrialState.OK else outcome

    def _demote(self, config: Config, outcome: Outcome) -> None:
        self.bench.observe(
            Notice(f"{config} fell out of the playoff: {outcome.state}: {outcome.reason}")
        )
        for trial in self.bench.store.trials(self.opened.id):
            if trial.config == config and trial.state is TrialState.OK and trial.id is not None:
                self.bench.store.demote(trial.id, outcome)
