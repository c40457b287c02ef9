"""Runs a study on a Ray cluster: one study for each device model, side by side, in one thread.

This process is the coordinator: it alone asks the samplers and writes to the store.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autotune_lab.devices.opening import AUTO
from autotune_lab.errors import DeviceLost, NoDevice, UsageError
from autotune_lab.execution.cluster.staging import stage
from autotune_lab.records import Phase
from autotune_lab.store.store import Store
from autotune_lab.tuning.bench import IDLE_S, Bench, Steps
from autotune_lab.tuning.ceilings import settled
from autotune_lab.tuning.events import Notice
from autotune_lab.tuning.study import Study, Task
from autotune_lab.tuning.work import Gathered, Work

if TYPE_CHECKING:
    from autotune_lab.execution.cluster.fleet import Fleet, Group


@dataclass(frozen=True, slots=True)
class ClusterRun:
    """A run of a study on the cluster that it names.

    Attributes:
        folder: an empty one, for the kernels' files.
        compile_workers: how many configs compile at once; by default as the nodes have cores.
    """

    study: Study
    store: Store
    run_id: int
    root: Path
    result: Gathered
    folder: Path
    compile_workers: int | None = None

    def run(self, tasks: Sequence[Task]) -> None:
        """Do all tasks on every device model that the study asks for.

        Raises:
            UsageError: Ray is not installed, or the address is none.
            NoDevice: no cluster answers, or it has none of the devices.
        """
        try:
            from autotune_lab.execution.cluster.fleet import open_fleet
        except ModuleNotFoundError as error:
            raise UsageError("a cluster needs Ray; pip install 'autotune-lab[ray]'") from error
        references = stage(self.study.kernels, root=self.root, target=self.folder)
        with open_fleet(
            self.study.cluster,
            self.study.limits,
            files=self.folder,
            tell=lambda text: self.result.observe(Notice(text)),
            most_compilers=self.compile_workers,
        ) as fleet:
            works = {
                group.name: (group, self._work(group, references)) for group in self._wanted(fleet)
            }
            shares = {name: _share(tasks, group) for name, (group, _) in works.items()}
            for phase in self._phases():
                steps = {
                    name: (group, phase(work, shares[name]))
                    for name, (group, work) in works.items()
                }
                self._side_by_side(fleet, steps)

    def _phases(self) -> list[Callable[[Work, Sequence[Task]], Steps[None]]]:
        phases = self.study.phases
        found: list[Callable[[Work, Sequence[Task]], Steps[None]]] = []
        if Phase.SCREEN in phases or Phase.TRANSFER not in phases:
            found.append(Work.tune)
        if Phase.TRANSFER in phases:
            found.append(Work.carry_over)
        return found

    def _wanted(self, fleet: "Fleet") -> "list[Group]":
        asked = set(self.study.devices)
        found = [group for group in fleet.groups if {AUTO, group.name} & asked]
        missing = asked - {AUTO} - {group.name for group in fleet.groups}
        if missing:
            held = ", ".join(group.name for group in fleet.groups)
            raise NoDevice(
                f"the cluster has no device model {', '.join(sorted(missing))}; it has {held}"
            )
        return found

    def _work(self, group: "Group", references: dict[str, str]) -> Work:
        bench = Bench(
            store=self.store,
            run_id=self.run_id,
            units=group.units,
            observe=self.result.observe,
            pool=group.pool,
        )
        hello = settled(group.hello, group.units[0].executor, self.store)
        return Work(self.study, bench, hello, self.root, self.result, references)

    def _side_by_side(
        self, fleet: "Fleet", steps: "Mapping[str, tuple[Group, Steps[None]]]"
    ) -> None:
        """Let each group's work go on whenever it can; a group without devices ends alone."""
        live = dict(steps)
        while live:
            fleet.tend()
            for name, (group, work) in list(live.items()):
                try:
                    if (loss := fleet.lost(group)) is not None:
                        work.throw(loss)
                    else:
                        next(work)
                except StopIteration:
                    del live[name]
                except DeviceLost as error:
                    del live[name]
                    self.result.fail(name, error)
            if live:
                fleet.wait(IDLE_S)


def _share(tasks: Sequence[Task], group: "Group") -> list[Task]:
    """Return the tasks that are meant for a group, each once."""
    mine = (replace(t, device=group.name) for t in tasks if t.device in (AUTO, group.name))
    return list(dict.fromkeys(mine))
