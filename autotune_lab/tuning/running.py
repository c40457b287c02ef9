"""Runs a study: device by device, task by task, phase by phase, and gives everything back."""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from autotune_lab import catalog, plugins
from autotune_lab.codec import to_plain
from autotune_lab.definitions import Problem
from autotune_lab.devices.opening import resolve
from autotune_lab.errors import DeviceLost, UsageError, did_you_mean
from autotune_lab.records import Hello, Phase, Pick
from autotune_lab.settings import Settings
from autotune_lab.store.store import Store
from autotune_lab.tuning.bench import Bench, Steps
from autotune_lab.tuning.benches import open_bench, sigterm_as_interrupt
from autotune_lab.tuning.clusters import ClusterRun
from autotune_lab.tuning.events import ContextFailed, Notice, Observer
from autotune_lab.tuning.lines import PlainLines
from autotune_lab.tuning.study import Study, Task
from autotune_lab.tuning.work import Gathered, Work


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What a study came to: a pick for each context that has one, and the contexts that failed."""

    picks: tuple[Pick, ...]
    failures: tuple[ContextFailed, ...]


def plan(study: Study, *, root: Path) -> list[Task]:
    """Resolve a study's devices and kernels into its tasks; nothing is started.

    Raises:
        UsageError: a kernel, problem, sampler or device is not known.
    """
    for sampler in study.samplers:
        plugins.load("samplers", sampler)
    kernels = {kernel: catalog.load(kernel, root=root) for kernel in study.kernels}
    # What a cluster has is known once its devices have answered.
    resolved = {d: d if study.cluster else resolve(d) for d in study.devices}
    cells: dict[Task, list[Problem]] = {}
    for task in study.tasks({kernel: found.problems for kernel, found in kernels.items()}):
        definition = kernels[task.kernel]
        _check_fields(task, definition.problems)
        bucket = definition.bucketed(task.problem)
        cell = replace(task, problem=bucket, device=resolved[task.device])
        cells.setdefault(cell, []).extend([task.problem] if bucket != task.problem else [])
    return [replace(cell, asked=tuple(problems)) for cell, problems in cells.items()]


def _check_fields(task: Task, declared: Sequence[Problem]) -> None:
    """Refuse a problem with a field that no declared problem of its kernel has, or without one."""
    known = {field for problem in declared for field in problem}
    needed = {field for field in known if all(field in problem for problem in declared)}
    faults = [
        f"has no field {name!r}{did_you_mean(name, known)}"
        for name in task.problem
        if name not in known
    ]
    faults += [f"needs {name!r}" for name in sorted(needed - set(task.problem))]
    if faults:
        raise UsageError(f"problem {task.problem}: {task.kernel} {'; '.join(faults)}")


def run_study(
    study: Study,
    store: Store,
    *,
    root: Path,
    observe: Observer,
    compile_workers: int | None = None,
) -> StudyResult:
    """Run every task of a study; one that finds no winner does not stop the others.

    Ctrl-C and SIGTERM end it within seconds with ``KeyboardInterrupt``; what was measured is
    stored, what was in flight is marked interrupted, and the same call goes on from there.

    Raises:
        UsageError: a kernel, problem, sampler or device is not known.
        DeviceError: a device can't be had. One that is lost later is among the failures.
        StoreError: the store can't be written.
    """
    tasks = plan(study, root=root)
    run_id = store.begin_run(study.name, _snapshot(study, tasks))
    state = "failed"
    try:
        with sigterm_as_interrupt(), tempfile.TemporaryDirectory(prefix="autotune-lab-") as logs:
            runner = _Runner(study, store, root, observe, run_id, Path(logs), compile_workers)
            runner.run(tasks)
            result = runner.result
            is_cut = any(isinstance(failed.error, DeviceLost) for failed in result.failures)
            state = "failed" if is_cut else "done"
            return StudyResult(tuple(result.picks), tuple(result.failures))
    except KeyboardInterrupt:
        state = "interrupted"
        raise
    finally:
        store.end_run(run_id, state)


def run_study_here(study: Study, *, store_url: str | None = None) -> StudyResult:
    """Run a study with the settings of the working folder and plain lines on standard error."""
    settings = Settings.discover(Path.cwd(), store=store_url)
    with contextlib.closing(Store.open(settings.store_url)) as store:
        return run_study(study, store, root=settings.root, observe=PlainLines(sys.stderr))


def _snapshot(study: Study, tasks: Sequence[Task]) -> dict[str, object]:
    return {
        "kernels": list(study.kernels),
        "devices": sorted({task.device for task in tasks}),
        "cluster": study.cluster,
        "samplers": list(study.samplers),
        "seeds": list(study.seeds),
        "budget": to_plain(study.budget),
        "protocol": to_plain(study.protocol),
        "limits": to_plain(study.limits),
        "phases": [phase.value for phase in study.phases],
        "tasks": len(tasks),
    }


class _Runner:
    """One run: opens benches, drives the work on them, and keeps what it comes to."""

    def __init__(
        self,
        study: Study,
        store: Store,
        root: Path,
        observe: Observer,
        run_id: int,
        logs: Path,
        compile_workers: int | None,
    ) -> None:
        self.study = study
        self.store = store
        self.root = root
        self.run_id = run_id
        self.logs = logs
        self.compile_workers = compile_workers
        self.result = Gathered(observe)

    def run(self, tasks: Sequence[Task]) -> None:
        swept = self.store.sweep_interrupted()
        if swept:
            self.result.observe(Notice(f"{swept} trials of runs that died are marked interrupted"))
        if self.study.cluster:
            self._on_cluster(tasks)
            return
        phases = self.study.phases
        if Phase.SCREEN in phases or Phase.TRANSFER not in phases:
            self._on_each_device(tasks, Work.tune)
        if Phase.TRANSFER in phases:
            self._on_each_device(tasks, Work.carry_over)

    def _on_each_device(
        self, tasks: Sequence[Task], phase: Callable[[Work, Sequence[Task]], Steps[None]]
    ) -> None:
        for device in dict.fromkeys(task.device for task in tasks):
            with self._noting_loss(device), self._bench(device) as (bench, hello):
                work = Work(self.study, bench, hello, self.root, self.result)
                bench.finish(phase(work, [task for task in tasks if task.device == device]))

    def _on_cluster(self, tasks: Sequence[Task]) -> None:
        files = self.logs / "kernels"
        files.mkdir()
        ClusterRun(
            study=self.study,
            store=self.store,
            run_id=self.run_id,
            root=self.root,
            result=self.result,
            folder=files,
            compile_workers=self.compile_workers,
        ).run(tasks)

    @contextlib.contextmanager
    def _noting_loss(self, device: str) -> Iterator[None]:
        """Note the loss of a device, which ends the work on it and not on the others."""
        try:
            yield
        except DeviceLost as error:
            self.store.interrupt_trials(self.run_id)
            self.result.fail(device, error)

    def _bench(self, device: str) -> AbstractContextManager[tuple[Bench, Hello]]:
        return open_bench(
            device,
            self.store,
            self.run_id,
            limits=self.study.limits,
            logs=self.logs,
            observe=self.result.observe,
            compile_workers=self.compile_workers,
        )
