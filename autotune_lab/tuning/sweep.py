"""Sweeps one parameter, the others held, and over one problem field if asked.

Each config is measured once as any trial is, verified, and then in shuffled, interleaved rounds on
fresh inputs, so that an interval holds the noise between measurements and not only that inside one.
Everything goes into the store; what is there is not measured again.
"""

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from autotune_lab import catalog
from autotune_lab.analysis.sweeps import Series, sweep_table
from autotune_lab.definitions import KernelDefinition, Problem
from autotune_lab.errors import UsageError, did_you_mean
from autotune_lab.execution.asking import run_job
from autotune_lab.records import Limits, MeasureJob, Phase, Protocol, Trial, TrialState
from autotune_lab.spaces.config import Config
from autotune_lab.store.store import Store
from autotune_lab.tuning.bench import Bench
from autotune_lab.tuning.benches import open_bench, sigterm_as_interrupt
from autotune_lab.tuning.events import Notice, Observer
from autotune_lab.tuning.holding import Held, held
from autotune_lab.tuning.opening import OpenContext, open_context
from autotune_lab.tuning.running import plan
from autotune_lab.tuning.screening import Screening
from autotune_lab.tuning.study import Budget, Study, Task
from autotune_lab.tuning.transfer import NoProposals

ROUNDS = 9
_RUN = (TrialState.OK, TrialState.PRUNED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepQuestion:
    """What is swept.

    Attributes:
        kernel: a reference.
        parameter: whose values are all measured.
        device: a spec.
        problem: where; None for the first declared one.
        over: a problem field to sweep beside it, ``""`` for none.
        over_values: of that field; empty for those of the declared problems.
        given: values that replace those of the winner's or the default's config.
        rounds: how often each config is measured after its first time.
        protocol: how.
    """

    kernel: str
    parameter: str
    device: str = "auto"
    problem: Problem | None = None
    over: str = ""
    over_values: Sequence[Any] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = ROUNDS
    protocol: Protocol = Protocol()


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found.

    Attributes:
        held: the config whose other parameters were held, and why that one.
        table: columns of ``analysis.sweeps``.
        notice: what must be said beside the numbers.
    """

    kernel: str
    parameter: str
    over: str
    device_model: str
    held: Held
    table: pd.DataFrame
    notice: str


def sweep(
    asked: SweepQuestion,
    store: Store,
    *,
    root: Path,
    observe: Observer,
    compile_workers: int | None = None,
) -> Sweep:
    """Measure what the store does not hold yet, and return the table.

    Raises:
        UsageError: there is no such parameter or field, or the held config is not valid.
        DeviceError: the device can't be had.
    """
    definition = catalog.load(asked.kernel, root=root)
    if asked.parameter not in definition.space.names:
        hint = did_you_mean(asked.parameter, definition.space.names)
        raise UsageError(f"kernel {definition.name!r} has no parameter {asked.parameter!r}{hint}")
    name = f"sweep {definition.name} {asked.parameter}"
    tasks = _tasks(asked, definition, root)
    run_id = store.begin_run(name, {"parameter": asked.parameter, "over": asked.over})
    state = "failed"
    try:
        with sigterm_as_interrupt(), tempfile.TemporaryDirectory(prefix="autotune-lab-") as logs:
            bench = open_bench(
                tasks[0].device,
                store,
                run_id,
                limits=Limits(),
                logs=Path(logs),
                observe=observe,
                compile_workers=compile_workers,
            )
            with bench as (opened_bench, hello):
                contexts = [
                    _open(
                        open_context(task, asked.protocol, hello, store, root=root, observe=observe)
                    )
                    for task in tasks
                ]
                found = _Sweeper(asked, opened_bench, contexts).run()
            state = "done"
            return found
    except KeyboardInterrupt:
        state = "interrupted"
        raise
    finally:
        store.end_run(run_id, state)


def _tasks(asked: SweepQuestion, definition: KernelDefinition, root: Path) -> list[Task]:
    base = asked.problem or definition.problems[0]
    problems = [base]
    if asked.over:
        values = asked.over_values or _declared(definition, asked.over)
        problems = [Problem({**base, asked.over: value}) for value in values]
    study = Study(kernels=[asked.kernel], problems={asked.kernel: problems}, devices=[asked.device])
    return plan(study, root=root)


def _declared(definition: KernelDefinition, name: str) -> list[Any]:
    """Return the values that a field has among the declared problems."""
    values = {problem[name]: None for problem in definition.problems if name in problem}
    if not values:
        fields = {field for problem in definition.problems for field in problem}
        raise UsageError(
            f"kernel {definition.name!r} has no field {name!r}{did_you_mean(name, fields)}"
        )
    return sorted(values) if all(isinstance(value, int | float) for value in values) else [*values]


def _open(opened: OpenContext) -> OpenContext:
    """Allow what rules of thumb leave out: the slow values are part of the answer."""
    context = opened.context
    space = opened.definition.space.bind(context.problem, context.model, heuristics=False)
    return replace(opened, space=space)


@dataclass(slots=True)
class _Sweeper:
    """One sweep on an open device."""

    asked: SweepQuestion
    bench: Bench
    contexts: Sequence[OpenContext]

    def run(self) -> Sweep:
        first = self.contexts[0]
        chosen = held(first, self.bench.store, self.asked.given)
        others = {n: v for n, v in chosen.config.items() if n != self.asked.parameter}
        told = " ".join(f"{name}={value}" for name, value in others.items()) or "nothing"
        self.bench.observe(Notice(f"held: {told} ({chosen.origin})"))
        series = [self._series(opened, chosen.config) for opened in self.contexts]
        for opened, one in zip(self.contexts, series, strict=True):
            caveat = self.bench.units[0].executor.caveat(
                opened.context.kernel, opened.context.problem
            )
            if caveat:
                self.bench.observe(Notice(caveat))
            self._measure(opened, list(one.configs.values()))
        trials = {opened.id: self.bench.store.trials(opened.id) for opened in self.contexts}
        return Sweep(
            kernel=first.context.kernel.name,
            parameter=self.asked.parameter,
            over=self.asked.over,
            device_model=first.context.model.slug,
            held=chosen,
            table=sweep_table(self.asked.parameter, series, trials),
            notice=first.context.source.notice,
        )

    def _series(self, opened: OpenContext, base: Config) -> Series:
        name = self.asked.parameter
        parameter = opened.space.parameters[opened.space.names.index(name)]
        configs, rejected = dict[Any, Config](), dict[Any, str]()
        for value in parameter.values:  # noqa: PD011 - a parameter, no frame
            try:
                configs[value] = opened.space.require({**base, name: value})
            except UsageError as error:
                rejected[value] = str(error).rpartition("in the space: ")[2]
        problem = opened.context.problem
        return Series(
            context_id=opened.id,
            problem=str(problem),
            over=problem.get(self.asked.over),
            configs=configs,
            held=base[name],
            rejected=rejected,
        )

    def _measure(self, opened: OpenContext, configs: Sequence[Config]) -> None:
        """Measure each config as a trial, then in rounds."""
        order = list(configs)
        random.Random(f"{self.asked.protocol.seed}").shuffle(order)
        Screening(
            bench=self.bench,
            opened=opened,
            sampler=NoProposals("all values are measured"),
            budget=Budget(),
            queued=order,
            phase=Phase.SWEEP,
        ).run()
        for number in range(1, self.asked.rounds + 1):
            runs = list(self._missing(opened, configs, number))
            random.Random(f"{self.asked.protocol.seed}:{number}").shuffle(runs)
            for trial in runs:
                self._again(opened, trial, number)
            if runs:
                self.bench.store.heartbeat(self.bench.run_id)
            if number == self.asked.rounds:
                self.bench.observe(Notice(f"{opened.context.label}: {number} rounds measured"))

    def _missing(
        self, opened: OpenContext, configs: Sequence[Config], number: int
    ) -> Iterator[Trial]:
        """Yield the trials that run and have no measurement of a round yet."""
        wanted = {config.id for config in configs}
        for trial in self.bench.store.trials(opened.id, states=_RUN):
            done = {m.round for m in trial.measurements if m.phase is Phase.SWEEP}
            if trial.config.id in wanted and number not in done:
                yield trial

    def _again(self, opened: OpenContext, trial: Trial, number: int) -> None:
        """Measure a trial once more; one that fails now is no longer ``ok``."""
        job = MeasureJob(
            kernel=opened.reference,
            problem=opened.context.problem,
            config=trial.config,
            protocol=opened.context.protocol,
            phase=Phase.SWEEP,
            round=number,
            verify=False,
        )
        outcome = run_job(self.bench.units[0].executor, job)
        assert trial.id is not None
        if outcome.measurement is not None and outcome.state in _RUN:
            self.bench.store.add_measurement(trial.id, outcome.measurement)
        elif trial.state is TrialState.OK and outcome.state.is_failure:
            self.bench.store.demote(trial.id, outcome)
