"""``autotune-lab overfit``: what winners are worth where they were not tuned."""

from enum import StrEnum
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.queries import KernelOption, ModelOption, ProblemOption, StudyOption
from autotune_lab.cli.state import open_store

EMPTY = "no winner has a second device, problem or environment to be judged on"


class Along(StrEnum):
    """What differs between where a winner was tuned and where it runs."""

    DEVICE = "device"
    PROBLEM = "problem"
    ENVIRONMENT = "environment"


def command(
    context: typer.Context,
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    study: StudyOption = None,
    along: Annotated[Along | None, typer.Option(help="Only this axis.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Judge winners elsewhere: overfit, portable, undecided.

    With --json also each cell of the transfer matrices.
    """
    from autotune_lab.cli import judging
    from autotune_lab.store.query import Query

    query = Query(kernel=kernel, problem=problem, device_model=device_model, study=study)
    with open_store(context) as store:
        judged = judging.judge(store, query, along=along.value if along else "")
    if as_json:
        show_json({"verdicts": judged.verdicts, "cells": judged.cells})
        return
    show([judging.told(row) for row in judged.verdicts], as_json=False, empty=EMPTY)
