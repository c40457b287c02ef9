"""The first phase: try configs until the budget, the space or the patience is exhausted.

One thread asks the sampler, claims configs in the store, keeps the compilers ahead of the devices,
and stores what comes back, each trial in a transaction of its own. Nothing else writes.
"""

from collections import Counter, deque
from dataclasses import dataclass, field, replace

from autotune_lab.compiling.targets import illegal_option
from autotune_lab.execution.base import Unit
from autotune_lab.records import (
    CompileJob,
    MeasureJob,
    Outcome,
    Phase,
    Resources,
    Trial,
    TrialState,
)
from autotune_lab.samplers.base import Observation, Sampler
from autotune_lab.spaces.config import Config
from autotune_lab.store.plausible import judged
from autotune_lab.tuning.bench import HEARTBEAT_S, Bench, Steps
from autotune_lab.tuning.events import ContextOpened, Notice, ScreeningEnded, TrialFinished
from autotune_lab.tuning.levelling import Levelling
from autotune_lab.tuning.opening import OpenContext
from autotune_lab.tuning.study import Budget

PREDICTED = frozenset({TrialState.OUT_OF_RESOURCES, TrialState.ILLEGAL})
# One may be bad luck, and two that of a node with several devices.
MOST_LOSSES = 3


@dataclass(slots=True)
class _Claim:
    """A config of ours that is somewhere between the sampler and the store."""

    trial_id: int
    config: Config
    number: int
    phase: Phase
    resources: Resources | None = None
    losses: int = 0


@dataclass(frozen=True, slots=True)
class _Run:
    """What a device is measuring: a claim, or a calibration if there is none."""

    unit: Unit
    claim: _Claim | None


@dataclass(slots=True)
class Screening:
    """One screening of one context; ``run`` does all of it.

    Attributes:
        queued: configs that go first.
        is_open: what is queued need not be in the space.
    """

    bench: Bench
    opened: OpenContext
    sampler: Sampler
    budget: Budget
    queued: list[Config] = field(default_factory=list)
    phase: Phase = Phase.SCREEN
    is_open: bool = False
    _history: list[Observation] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _states: Counter[str] = field(default_factory=Counter)
    _best: Trial | None = None
    _compiling: dict[str, _Claim] = field(default_factory=dict)
    _ready: deque[_Claim] = field(default_factory=deque)
    _running: list[_Run] = field(default_factory=list)
    _elsewhere: dict[str, Config] = field(default_factory=dict)
    _streak: tuple[str, int] = ("", 0)
    _number: int = 0
    _ended: str = ""
    _levelling: Levelling = field(init=False)

    def run(self) -> str:
        """Do all of ``steps``, alone."""
        return self.bench.finish(self.steps())

    def steps(self) -> Steps[str]:
        """Screen until something ends it, and return what did.

        A budget of trials counts what the store already holds. Configs in ``queued`` go first.
        """
        self._levelling = Levelling(self.bench, self.opened)
        self._resume()
        self.bench.observe(
            ContextOpened(
                self.opened.context,
                self.opened.id,
                len(self.opened.space),
                self._limit,
                len(self._seen),
            )
        )
        deadline = self._deadline()
        beat = self.bench.clock()
        while True:
            if not self._ended and self.bench.clock() >= deadline:
                self._ended = "time budget spent"
            self._fill()
            if not self._is_busy and (self._ended or self._free):
                break
            yield
            self._collect()
            if self.bench.clock() - beat > HEARTBEAT_S:
                self.bench.store.heartbeat(self.bench.run_id)
                beat = self.bench.clock()
        self.bench.observe(ScreeningEnded(self.opened.context, self._ended, self._states))
        return self._ended

    def _deadline(self) -> float:
        if self.budget.seconds is None:
            return float("inf")
        return self.bench.clock() + self.budget.seconds

    @property
    def _limit(self) -> int:
        size = len(self.opened.space)
        return size if self.budget.trials is None else min(size, self.budget.trials)

    def _resume(self) -> None:
        trials = self.bench.store.trials(self.opened.id)
        self._levelling.judge(trials)
        for trial in trials:
            self._number = max(self._number, trial.number)
            if trial.state is TrialState.RUNNING:
                self._elsewhere[trial.config.id] = trial.config
            elif trial.state is not TrialState.INTERRUPTED:
                self._learn(trial)

    def _learn(self, trial: Trial) -> None:
        self._levelling.learn(trial)
        time_ms = trial.screen_ms
        if trial.state is TrialState.PRUNED and trial.measurements:
            time_ms = trial.measurements[0].median_ms
        if time_ms is not None:
            time_ms /= self._correction(trial.device_uuid)
        self._history.append(Observation(trial.config, trial.state, time_ms))
        self._seen.add(trial.config.id)
        self._elsewhere.pop(trial.config.id, None)
        self._states[trial.state.value] += 1
        if trial.is_eligible and time_ms is not None:
            best_ms = self._best_ms()
            if best_ms is None or time_ms < best_ms:
                self._best = trial

    def _correction(self, uuid: str) -> float:
        return self._levelling.corrections.get(uuid, 1.0)

    def _best_ms(self, uuid: str = "") -> float | None:
        """Return the best time as a device would see it; by default a typical one."""
        if self._best is None or self._best.screen_ms is None:
            return None
        typical_ms = self._best.screen_ms / self._correction(self._best.device_uuid)
        return typical_ms * self._correction(uuid)

    @property
    def _free(self) -> list[Unit]:
        """The devices that may measure here, idle or not."""
        return [unit for unit in self.bench.units if unit.uuid not in self._levelling.aside]

    @property
    def _is_busy(self) -> bool:
        return bool(self._compiling or self._ready or self._running)

    @property
    def _pending(self) -> list[Config]:
        running = [run.claim for run in self._running if run.claim is not None]
        ours = [*self._compiling.values(), *self._ready, *running]
        return [claim.config for claim in ours] + list(self._elsewhere.values())

    def _fill(self) -> None:
        """Keep the compilers busy and the devices fed."""
        while not self._ended and self._room() > 0:
            configs = self._next(self._room())
            if not configs:
                break
            for config in configs:
                self._start(config)
        for unit in self._free:
            if unit.executor.busy:
                continue
            if (job := self._levelling.due(unit.uuid)) is not None:
                self._submit(unit, None, job)
            elif self._ready:
                claim = self._ready.popleft()
                self._submit(unit, claim, self._job(claim, unit))

    def _room(self) -> int:
        pool = self.bench.pool
        if pool is None:
            wanted = sum(not unit.executor.busy for unit in self._free)
        else:
            wanted = 2 * pool.workers
        waiting = len(self._compiling) + len(self._ready)
        if wanted <= waiting:
            return 0
        if self.is_open:
            return max(wanted - waiting, 0)
        left = self._limit - len(self._seen) - len(self._pending)
        if left <= 0 and not self._is_busy:
            full = len(self._seen) + len(self._elsewhere) >= len(self.opened.space)
            self._ended = "space exhausted" if full else "trial budget spent"
        return min(wanted - waiting, left)

    def _next(self, count: int) -> list[Config]:
        pending = self._pending
        while self.queued:
            config = self.queued.pop(0)
            is_new = config.id not in self._seen and config not in pending
            if is_new and (self.is_open or config in self.opened.space):
                return [config]
        configs = self.sampler.propose(self.opened.space, self._history, pending, count)
        if not configs and not pending:
            self._ended = getattr(self.sampler, "stopped_because", "") or "space exhausted"
        return configs

    def _start(self, config: Config) -> None:
        self._number += 1
        store, opened = self.bench.store, self.opened
        trial_id = store.claim(self.bench.run_id, opened.id, config, self._number)
        if trial_id is None:
            self._elsewhere[config.id] = config
            return
        claim = _Claim(trial_id, config, self._number, self.phase)
        if reason := illegal_option(config):
            self._finish(claim, Outcome(TrialState.ILLEGAL, reason=reason), "")
        elif self.bench.pool is None:
            self._ready.append(claim)
        else:
            key = config.id
            self._compiling[key] = claim
            job = CompileJob(opened.reference, opened.context.problem, config, opened.context.model)
            self.bench.pool.submit(key, job)

    def _job(self, claim: _Claim, unit: Unit) -> MeasureJob:
        is_screen = claim.phase is Phase.SCREEN
        return MeasureJob(
            kernel=self.opened.reference,
            problem=self.opened.context.problem,
            config=claim.config,
            protocol=self.opened.context.protocol,
            phase=claim.phase,
            best_ms=self._best_ms(unit.uuid) if is_screen else None,
        )

    def _submit(self, unit: Unit, claim: _Claim | None, job: MeasureJob) -> None:
        self._running.append(_Run(unit, claim))
        unit.executor.submit(job)

    def _collect(self) -> None:
        if self.bench.pool is not None:
            for key, outcome in self.bench.pool.collect():
                claim = self._compiling.pop(key)
                claim.resources = outcome.resources
                if outcome.state is TrialState.OK:
                    self._ready.append(claim)
                else:
                    self._finish(claim, outcome, "")
        for run in list(self._running):
            measured = run.unit.executor.collect()
            if measured is None:
                continue
            self._running.remove(run)
            if run.claim is None:
                self._levelling.keep(run.unit.uuid, measured)
            elif measured.state is TrialState.INTERRUPTED:
                self._repeat(run.claim, measured, run.unit.uuid)
            else:
                self._finish(run.claim, measured, run.unit.uuid)

    def _repeat(self, claim: _Claim, outcome: Outcome, uuid: str) -> None:
        """Claim a config again whose device was lost under it, unless it may be what does that."""
        claim.losses += 1
        self.bench.store.finish(claim.trial_id, outcome, uuid)
        trial_id = None
        if claim.losses < MOST_LOSSES:
            store, run_id = self.bench.store, self.bench.run_id
            trial_id = store.claim(run_id, self.opened.id, claim.config, claim.number)
        else:
            self.bench.observe(
                Notice(f"{claim.config}: left out of this run: {claim.losses} devices were lost "
                       "while they measured it")
            )  # fmt: skip
        if trial_id is None:
            self._elsewhere[claim.config.id] = claim.config
        else:
            claim.trial_id = trial_id
            self._ready.appendleft(claim)

    def _finish(self, claim: _Claim, outcome: Outcome, uuid: str) -> None:
        outcome = judged(replace(outcome, resources=claim.resources or outcome.resources))
        self.bench.store.finish(claim.trial_id, outcome, uuid)
        trial = Trial.from_outcome(
            self.opened.id, claim.config, outcome, number=claim.number, trial_id=claim.trial_id
        )
        self._learn(replace(trial, device_uuid=uuid))
        self.bench.observe(
            TrialFinished(
                self.opened.context,
                trial,
                self._best,
                self._states,
                len(self._seen),
                self._limit,
            )
        )
        self._count_equal(trial)

    def _count_equal(self, trial: Trial) -> None:
        """End the screening when one fault of the kernel or the machine repeats without a break."""
        if trial.state in PREDICTED:
            return
        fault = f"{trial.state}: {trial.reason}" if trial.state.is_failure else ""
        last, count = self._streak
        self._streak = (fault, count + 1) if fault and fault == last else (fault, 1)
        if fault and self._streak[1] >= self.budget.equal_failures and not self._ended:
            self._ended = f"{self._streak[1]} equal failures in a row ({fault})"
