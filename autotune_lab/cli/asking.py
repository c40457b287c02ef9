"""Which configs ``feasibility`` asks about, and its answers with a count on standard error."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from autotune_lab import catalog
from autotune_lab.analysis import winners
from autotune_lab.checking.feasibility import Feasibility, Question, feasibility
from autotune_lab.cli.state import open_store, settings
from autotune_lab.compiling.targets import Target
from autotune_lab.definitions import KernelDefinition, Problem
from autotune_lab.errors import UsageError
from autotune_lab.spaces.config import Config
from autotune_lab.store.query import Query

CHOICES = ("winners", "default", "all")


def questions(
    context: typer.Context, kernel: str, configs: str, problem: str | None
) -> list[Question]:
    """Name the configs of a kernel that are meant, each once per problem.

    Raises:
        UsageError: ``configs`` is not one of ``CHOICES``, or it means no config.
    """
    if configs not in CHOICES:
        raise UsageError(f"--configs {configs!r} is not one of {', '.join(CHOICES)}")
    definition = catalog.load(kernel, root=settings(context).root)
    asked = Problem.parse(problem) if problem else None
    if configs == "winners":
        pairs = _winners(context, definition, asked)
    else:
        problems = [asked] if asked else list(definition.problems)
        pairs = [(p, c) for p in problems for c in _declared(definition, p, configs)]
    if not pairs:
        hint = f"; tune it, or use --configs default|all with {kernel}"
        raise UsageError(f"there are no {configs} of {kernel} to ask about{hint}")
    return [Question(kernel, p, config) for p, config in dict.fromkeys(pairs)]


def answers(
    asked: Sequence[Question], targets: Sequence[Target], workers: int | None
) -> list[Feasibility]:
    """Compile, and count on standard error what is done."""
    total, done = len(asked) * len(targets), 0

    def count(_: Feasibility) -> None:
        nonlocal done
        done += 1
        if done % 50 == 0:
            sys.stderr.write(f"  {done}/{total} compiled\n")

    with tempfile.TemporaryDirectory(prefix="autotune-lab-") as logs:
        return feasibility(asked, targets, log_dir=Path(logs), workers=workers, observe=count)


def _winners(
    context: typer.Context, definition: KernelDefinition, problem: Problem | None
) -> list[tuple[Problem, Config]]:
    with open_store(context) as store:
        picks = winners.best(store, Query(kernel=definition.name, problem=problem))
    return [(pick.context.problem, pick.config) for pick in picks]


def _declared(definition: KernelDefinition, problem: Problem, configs: str) -> list[Config]:
    if configs == "all":
        return list(definition.space.bind(problem, None))
    return [definition.default_config] if definition.default_config else []
