"""What a study declares: kernels, problems, devices, samplers, seeds, a budget, phases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autotune_lab.definitions import Problem
from autotune_lab.errors import DefinitionError
from autotune_lab.records import Limits, Phase, Protocol
from autotune_lab.spaces.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When the screening of one context stops; whichever comes first, None for no bound.

    Attributes:
        trials: distinct configs in the store for the context, earlier runs of the study included.
        seconds: wall clock of this run's screening.
        equal_failures: stop when so many configs in a row fail with the same state and reason.
    """

    trials: int | None = None
    seconds: float | None = None
    equal_failures: int = 20

    def __post_init__(self) -> None:
        if self.trials is not None and self.trials < 1:
            raise DefinitionError("budget", [f"trials is {self.trials}; use 1 or more"])
        if self.seconds is not None and self.seconds <= 0:
            raise DefinitionError("budget", [f"seconds is {self.seconds}; use more than 0"])


@dataclass(frozen=True, slots=True)
class Task:
    """One cell of a study: one kernel and problem on one device, searched by one sampler.

    Attributes:
        asked: the problems that were asked for and fall into the bucket ``problem``, if any do.
    """

    kernel: str
    problem: Problem
    device: str
    sampler: str
    seed: int
    asked: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """A scripted tuning study, declared by one module-level ``study = Study(...)``.

    Attributes:
        name: the study's name in the store; the file's stem when run by ``autotune-lab run``.
        kernels: catalog names or ``path/file.py[:attr]``.
        problems: kernel -> problems; a kernel that is not named takes its definition's own.
        devices: device specs, ``cuda:0``, ``cuda:0@64sm``, ``replay@nvidia-h200``, ``auto``. On a
            cluster device models, ``nvidia-h200``, or ``auto`` for all that it has.
        cluster: where the devices are: ``""`` for this machine, ``auto`` for the Ray cluster that
            this machine belongs to, ``local`` for one that is started here, or ``HOST:PORT``.
        samplers, seeds: each combination is searched on its own; all feed one store.
        also: kernel -> problem -> configs that are measured besides what samplers propose, be they
            in the space or not and however slow: what somebody published, say.
        phases: ``SCREEN`` finds leaders, ``PLAYOFF`` picks the winner, ``TRANSFER`` runs each
            device's and problem's winner in the other contexts of its kernel.
    """

    kernels: Sequence[str]
    name: str = "study"
    problems: Mapping[str, Sequence[Problem]] = field(default_factory=dict)
    devices: Sequence[str] = ("auto",)
    cluster: str = ""
    samplers: Sequence[str] = ("tpe",)
    seeds: Sequence[int] = (0,)
    also: Mapping[str, Mapping[Problem, Sequence[Config]]] = field(default_factory=dict)
    budget: Budget = Budget(trials=200)
    protocol: Protocol = Protocol()
    limits: Limits = Limits()
    phases: Sequence[Phase] = (Phase.SCREEN, Phase.PLAYOFF)

    def __post_init__(self) -> None:
        faults = [
            f"{name} is empty"
            for name in ("kernels", "devices", "samplers", "seeds", "phases")
            if not getattr(self, name)
        ]
        faults += [
            f"{name} names {kernel!r}, which is not in kernels"
            for name in ("problems", "also")
            for kernel in getattr(self, name)
            if kernel not in self.kernels
        ]
        if faults:
            raise DefinitionError(f"study {self.name!r}", faults)

    def tasks(self, declared: Mapping[str, Sequence[Problem]]) -> Iterator[Task]:
        """Yield the study's cells, device by device, so that each device is opened once.

        Args:
            declared: the problems that each kernel's definition names.
        """
        for device in self.devices:
            for kernel in self.kernels:
                for problem in self.problems.get(kernel) or declared[kernel]:
                    for sampler in self.samplers:
                        for seed in self.seeds:
                            yield Task(kernel, problem, device, sampler, seed)
