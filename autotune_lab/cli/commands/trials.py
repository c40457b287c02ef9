"""``autotune-lab trials``: what was tried."""

from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show
from autotune_lab.cli.queries import (
    KernelOption,
    ModelOption,
    ProblemOption,
    SimulatedOption,
    StudyOption,
)
from autotune_lab.cli.state import open_store


def command(
    context: typer.Context,
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    study: StudyOption = None,
    state: Annotated[str | None, typer.Option(help="Only trials that ended so.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many, fastest first.", min=1)] = 20,
    include_simulated: SimulatedOption = False,
    as_json: JsonOption = False,
) -> None:
    """List trials, fastest first.

    The failed ones follow, with their reasons.
    """
    from autotune_lab.store import frames
    from autotune_lab.store.query import Query

    query = Query(
        kernel=kernel,
        problem=problem,
        device_model=device_model,
        study=study,
        include_simulated=include_simulated,
    )
    with open_store(context) as store:
        frame = frames.fastest(store, query, limit, state=state)
    rows = [
        {
            "kernel": row.kernel,
            "problem": row.problem,
            "device_model": row.device_model,
            "config": str(row.config),
            "state": row.state,
            "time_ms": row.time_ms,
            "reason": row.reason,
            "source": row.source,
        }
        for row in frame.itertuples(index=False)
    ]
    show(rows, as_json=as_json, empty="no trials")
