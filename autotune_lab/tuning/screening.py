"""The first phase: try configs until the budget, the space or the patience is exhausted.

One thread asks the sampler, claims configs in the store, keeps the compiler pool ahead of the
device, and stores what comes back, each trial in a transaction of its own. Nothing else writes.
"""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from autotune_lab import processes
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import illegal_option
from autotune_lab.execution.base import Executor
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
from autotune_lab.store.store import Store
from autotune_lab.tuning.events import ContextOpened, Observer, ScreeningEnded, TrialFinished
from autotune_lab.tuning.opening import OpenContext
from autotune_lab.tuning.study import Budget

HEARTBEAT_S = 30.0
IDLE_S = 0.5
PREDICTED = frozenset({TrialState.OUT_OF_RESOURCES, TrialState.ILLEGAL})


@dataclass(frozen=True, slots=True)
class Bench:
    """What a phase works with: the store, the device, the compilers, and who watches."""

    store: Store
    run_id: int
    executor: Executor
    device_uuid: str
    observe: Observer
    pool: CompilePool | None = None
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class _Claim:
    """A config of ours that is somewhere between the sampler and the store."""

    trial_id: int
    config: Config
    number: int
    phase: Phase
    resources: Resources | None = None


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
    _running: _Claim | None = None
    _elsewhere: dict[str, Config] = field(default_factory=dict)
    _streak: tuple[str, int] = ("", 0)
    _number: int = 0
    _ended: str = ""

    def run(self) -> str:
        """Screen until something ends it, and return what did.

        A budget of trials counts what the store already holds. Configs in ``queued`` go first.
        """
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
            if not (self._compiling or self._ready or self._running):
                break
            children = [*self.bench.executor.children]
            if self.bench.pool is not None:
                children += self.bench.pool.children
            if children:
                processes.wait(children, IDLE_S)
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
        for trial in self.bench.store.trials(self.opened.id):
            self._number = max(self._number, trial.number)
            if trial.state is TrialState.RUNNING:
                self._elsewhere[trial.config.id] = trial.config
            elif trial.state is not TrialState.INTERRUPTED:
                self._learn(trial)

    def _learn(self, trial: Trial) -> None:
        time_ms = trial.screen_ms
        if trial.state is TrialState.PRUNED and trial.measurements:
            time_ms = trial.measurements[0].median_ms
        self._history.append(Observation(trial.config, trial.state, time_ms))
        self._seen.add(trial.config.id)
        self._elsewhere.pop(trial.config.id, None)
        self._states[trial.state.value] += 1
        if trial.is_eligible and trial.screen_ms is not None:
            best_ms = self._best.screen_ms if self._best else None
            if best_ms is None or trial.screen_ms < best_ms:
                self._best = trial

    @property
    def _pending(self) -> list[Config]:
        ours = [*self._compiling.values(), *self._ready]
        if self._running is not None:
            ours.append(self._running)
        return [claim.config for claim in ours] + list(self._elsewhere.values())

    def _fill(self) -> None:
        """Keep the compilers busy and the device fed."""
        while not self._ended and self._room() > 0:
            configs = self._next(self._room())
            if not configs:
                break
            for config in configs:
                self._start(config)
        while self._ready and not self.bench.executor.busy:
            self._measure(self._ready.popleft())

    def _room(self) -> int:
        pool = self.bench.pool
        wanted = 1 if pool is None else 2 * pool.workers
        waiting = len(self._compiling) + len(self._ready)
        if pool is None and self._running is not None:
            return 0
        if self.is_open:
            return max(wanted - waiting, 0)
        left = self._limit - len(self._seen) - len(self._pending)
        if left <= 0 and not (self._compiling or self._ready or self._running):
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
            self._finish(claim, Outcome(TrialState.ILLEGAL, reason=reason))
        elif self.bench.pool is None:
            self._ready.append(claim)
        else:
            key = config.id
            self._compiling[key] = claim
            job = CompileJob(opened.reference, opened.context.problem, config, opened.context.model)
            self.bench.pool.submit(key, job)

    def _measure(self, claim: _Claim) -> None:
        self._running = claim
        self.bench.executor.submit(
            MeasureJob(
                kernel=self.opened.reference,
                problem=self.opened.context.problem,
                config=claim.config,
                protocol=self.opened.context.protocol,
                phase=claim.phase,
                best_ms=self._best.screen_ms
                if self._best and claim.phase is Phase.SCREEN
                else None,
            )
        )

    def _collect(self) -> None:
        if self.bench.pool is not None:
            for key, outcome in self.bench.pool.collect():
                claim = self._compiling.pop(key)
                claim.resources = outcome.resources
                if outcome.state is TrialState.OK:
                    self._ready.append(claim)
                else:
                    self._finish(claim, outcome)
        measured = self.bench.executor.collect()
        if measured is not None and self._running is not None:
            claim, self._running = self._running, None
            self._finish(claim, measured)

    def _finish(self, claim: _Claim, outcome: Outcome) -> None:
        outcome = judged(replace(outcome, resources=claim.resources or outcome.resources))
        self.bench.store.finish(claim.trial_id, outcome, self.bench.device_uuid)
        trial = Trial.from_outcome(
            self.opened.id, claim.config, outcome, number=claim.number, trial_id=claim.trial_id
        )
        self._learn(trial)
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
