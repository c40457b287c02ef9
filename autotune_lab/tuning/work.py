"""The tasks of a study on one bench, phase by phase, in steps that can run beside others'."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from autotune_lab import plugins
from autotune_lab.errors import AutotuneLabError, NoDevice, TuningError, UsageError
from autotune_lab.records import Hello, Phase, Pick
from autotune_lab.samplers.base import Sampler
from autotune_lab.spaces.config import Config
from autotune_lab.store.store import Store
from autotune_lab.tuning.bench import Bench, Steps
from autotune_lab.tuning.events import ContextFailed, Notice, Observer
from autotune_lab.tuning.opening import OpenContext, open_context
from autotune_lab.tuning.playoff import Playoff
from autotune_lab.tuning.screening import Screening
from autotune_lab.tuning.study import Study, Task
from autotune_lab.tuning.transfer import foreign_winners, transfer

# NoDevice, because a recording may hold one problem of a kernel and lack another.
FAULTS_OF_A_CONTEXT = (TuningError, UsageError, NoDevice)


@dataclass(slots=True)
class Gathered:
    """What the benches of one run have come to so far; they share it."""

    observe: Observer
    picks: list[Pick] = field(default_factory=list)
    failures: list[ContextFailed] = field(default_factory=list)

    def fail(self, task: str, error: AutotuneLabError) -> None:
        """Note what ended without a winner."""
        failed = ContextFailed(task, error)
        self.failures.append(failed)
        self.observe(failed)

    def replace(self, pick: Pick) -> None:
        """Let a pick take the place of an earlier one of its context."""
        self.picks = [p for p in self.picks if p.context.id != pick.context.id] + [pick]


@dataclass(frozen=True, slots=True)
class Work:
    """What a study asks of one bench.

    Attributes:
        references: kernel -> how the processes that own the devices find it, where they can't read
            the files of this machine.
    """

    study: Study
    bench: Bench
    hello: Hello
    root: Path
    result: Gathered
    references: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """Where everything goes."""
        return self.bench.store

    def tune(self, tasks: Sequence[Task]) -> Steps[None]:
        """Screen and play off one task after another; a fault of a kernel is noted, not raised."""
        for task in tasks:
            if task.asked:
                self.bench.observe(Notice(_bucket_note(task)))
            with self._noting_faults(task):
                opened = self._open(task)
                if Phase.SCREEN in self.study.phases:
                    yield from Screening(
                        bench=self.bench,
                        opened=opened,
                        sampler=_create_sampler(task),
                        budget=self.study.budget,
                        queued=_declared_default(opened),
                    ).steps()
                if also := self.study.also.get(task.kernel, {}).get(opened.context.problem):
                    yield from transfer(self.bench, opened, also, is_open=True).steps()
                if Phase.PLAYOFF in self.study.phases:
                    pick = yield from Playoff(self.bench, opened).steps()
                    self.result.picks.append(pick)

    def carry_over(self, tasks: Sequence[Task]) -> Steps[None]:
        """Run the other contexts' winners here, then judge again where one of them may have won."""
        for task in _distinct(tasks):
            with self._noting_faults(task):
                opened = self._open(task)
                foreign = foreign_winners(opened, self._winners(opened))
                yield from transfer(self.bench, opened, foreign).steps()
                if Phase.PLAYOFF in self.study.phases:
                    self.result.replace((yield from Playoff(self.bench, opened).steps()))

    @contextmanager
    def _noting_faults(self, task: Task) -> Iterator[None]:
        try:
            yield
        except FAULTS_OF_A_CONTEXT as error:
            self.result.fail(f"{task.kernel} {task.problem} on {task.device}", error)

    def _open(self, task: Task) -> OpenContext:
        opened = open_context(
            task,
            self.study.protocol,
            self.hello,
            self.store,
            root=self.root,
            observe=self.bench.observe,
            reference=self.references.get(task.kernel, ""),
        )
        context = opened.context
        for unit in self.bench.units[:1]:
            if caveat := unit.executor.caveat(context.kernel, context.problem):
                self.bench.observe(Notice(caveat))
        return opened

    def _winners(self, opened: OpenContext) -> list[Pick]:
        """Return the winners to carry over: this run's, or the stored ones if it screens none."""
        if Phase.SCREEN in self.study.phases:
            return self.result.picks
        return self.store.picks(kernel=opened.context.kernel.name)


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    """One task for each kernel and problem, whatever its samplers and seeds."""
    return list({(task.kernel, task.problem.id): task for task in tasks}.values())


def _bucket_note(task: Task) -> str:
    first, *others = task.asked
    more = f" and {len(others)} more problems of its bucket" if others else ""
    return f"{task.kernel}: {task.problem} is tuned for {first}{more}"


def _declared_default(opened: OpenContext) -> list[Config]:
    """The declared default goes first: the playoff compares every winner with it."""
    default = opened.definition.default_config
    return [] if default is None else [default]


def _create_sampler(task: Task) -> Sampler:
    module = plugins.load("samplers", task.sampler)
    sampler: Sampler = module.create(task.seed)
    return sampler
