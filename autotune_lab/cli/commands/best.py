"""``autotune-lab best``: the winners."""

import typer

from autotune_lab.cli.output import JsonOption
from autotune_lab.cli.queries import (
    KernelOption,
    ModelOption,
    ProblemOption,
    SimulatedOption,
)
from autotune_lab.cli.state import open_store


def command(
    context: typer.Context,
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    include_simulated: SimulatedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show winners with their intervals and ties.

    One for each kernel, problem and device model, with the time of what it beats.

    Exits with 1 when there is none.
    """
    from autotune_lab.analysis import winners
    from autotune_lab.cli.picks import show_picks
    from autotune_lab.store.query import Query

    query = Query(
        kernel=kernel,
        problem=problem,
        device_model=device_model,
        include_simulated=include_simulated,
    )
    with open_store(context) as store:
        picks = winners.best(store, query)
    show_picks(picks, as_json=as_json, empty="no winner yet; run: autotune-lab tune KERNEL")
    if not picks:
        raise typer.Exit(1)
