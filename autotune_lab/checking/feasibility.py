"""Before you own the GPU: does a config fit other targets at all, and how full would it keep them?

Compiles ahead of time for GPUs that are not there. It says what fits and why not; it never says how
fast: no time is claimed for a GPU that was not measured.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune_lab import processes
from autotune_lab.compiling.occupancy import Occupancy, occupancy
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import TARGETS, Target, target_of
from autotune_lab.definitions import Problem
from autotune_lab.errors import UsageError
from autotune_lab.records import CompileJob, Limits, Outcome, Resources, TrialState
from autotune_lab.spaces.config import Config


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Whether one config of a kernel can run on one target.

    Attributes:
        state: ``ok`` (it fits; how fast is not known), ``out_of_resources``, ``compile_error``,
            ``compile_timeout`` or ``illegal``.
        reason: why it does not, with need and limit.
        occupancy: theoretical; None where the compiler does not tell a resource.
    """

    kernel: str
    problem: Problem
    config: Config
    target: str
    state: TrialState
    reason: str = ""
    resources: Resources | None = None
    occupancy: Occupancy | None = None

    @property
    def fits(self) -> bool:
        """It compiles and its resources are within the target's limits."""
        return self.state is TrialState.OK


@dataclass(frozen=True, slots=True)
class Question:
    """One config of a kernel for one problem; ``kernel`` is a reference."""

    kernel: str
    problem: Problem
    config: Config


def targets_named(names: Iterable[str]) -> list[Target]:
    """Return targets by architecture name.

    Raises:
        UsageError: a name is not in the table of limits.
    """
    wanted = list(names)
    if unknown := [name for name in wanted if name not in TARGETS]:
        raise UsageError(f"no limits known for {', '.join(unknown)}; known: {', '.join(TARGETS)}")
    return [TARGETS[name] for name in wanted]


def feasibility(
    questions: Sequence[Question],
    targets: Sequence[Target],
    *,
    log_dir: Path,
    workers: int | None = None,
    limits: Limits | None = None,
    observe: Callable[[Feasibility], None] = lambda _: None,
) -> list[Feasibility]:
    """Compile every config for every target, in parallel, without a GPU.

    Args:
        questions: which configs.
        targets: for which architectures.
        log_dir: an existing folder for the compilers' output.
        workers: compiler processes; by default one a core.
        limits: ``compile_s`` bounds each compilation.
        observe: told of each answer as it comes.

    Returns:
        One answer for each pair, question by question, in the order of the targets.
    """
    pool = CompilePool(workers or os.cpu_count() or 1, limits or Limits(), log_dir=log_dir)
    pairs = [(question, target) for question in questions for target in targets]
    answers: dict[str, Feasibility] = {}
    try:
        for key, (question, target) in enumerate(pairs):
            job = CompileJob(question.kernel, question.problem, question.config, target.model())
            pool.submit(str(key), job)
        while len(answers) < len(pairs):
            processes.wait(pool.children, 1.0)
            for done, outcome in pool.collect():
                question, target = pairs[int(done)]
                answers[done] = _answer(question, target, outcome)
                observe(answers[done])
    finally:
        pool.close()
    return [answers[str(key)] for key in range(len(pairs))]


def _answer(question: Question, target: Target, outcome: Outcome) -> Feasibility:
    resources = outcome.resources
    return Feasibility(
        kernel=question.kernel,
        problem=question.problem,
        config=question.config,
        target=target.architecture,
        state=outcome.state,
        reason=outcome.reason,
        resources=resources,
        occupancy=occupancy(resources, target_of(target.model())) if resources else None,
    )
