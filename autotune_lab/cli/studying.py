"""What ``tune`` and ``run`` share: plan or run a study with a display, then show its picks."""

from typing import Any

import typer

from autotune_lab.cli.output import show, show_json
from autotune_lab.cli.picks import pick_rows, show_picks
from autotune_lab.cli.progress import observer
from autotune_lab.cli.state import open_store, settings
from autotune_lab.errors import DeviceLost
from autotune_lab.store.location import locate
from autotune_lab.tuning.running import StudyResult, plan, run_study
from autotune_lab.tuning.study import Study

SECONDS_PER_TRIAL = 0.06  # compile ahead, verify, time: seen on an H200 with 16 cores


def conduct(
    context: typer.Context, study: Study, *, dry_run: bool, as_json: bool, workers: int | None
) -> None:
    """Run a study with a display and show its picks; with ``dry_run`` only say what would be done.

    Raises:
        typer.Exit: a device was lost, or no context found a winner; with the error's code.
    """
    root = settings(context).root
    if dry_run:
        show(planned(study, context), as_json=as_json, title=f"study {study.name}")
        return
    with open_store(context, create=True) as store, observer(as_json=as_json) as observe:
        result = run_study(study, store, root=root, observe=observe, compile_workers=workers)
    show_result(result, as_json=as_json)
    lost = [failed for failed in result.failures if isinstance(failed.error, DeviceLost)]
    if lost or (result.failures and not result.picks):
        raise typer.Exit((lost or result.failures)[0].error.exit_code)


def planned(study: Study, context: typer.Context) -> list[dict[str, Any]]:
    """List a study's tasks with the size of each space and a rough estimate of the minutes."""
    from autotune_lab import catalog, fingerprint

    where = settings(context)
    rows = []
    for task in plan(study, root=where.root):
        definition = catalog.load(task.kernel, root=where.root)
        size = len(definition.space.bind(definition.bucketed(task.problem), None))
        trials = min(size, study.budget.trials or size)
        rows.append(
            {
                "kernel": task.kernel,
                "problem": str(task.problem),
                "device": task.device,
                "sampler": task.sampler,
                "seed": task.seed,
                "space": size,
                "trials": trials,
                "minutes": round(trials * SECONDS_PER_TRIAL / 60, 1),
                "code": fingerprint.identify(definition, task.kernel).code_hash,
                "store": locate(where.store_url).display,
            }
        )
    return rows


def show_result(result: StudyResult, *, as_json: bool) -> None:
    """Print the picks of a study, and what failed, as a table or as JSON."""
    rows = pick_rows(result.picks)
    if as_json:
        failures = [{"task": f.task, "error": str(f.error)} for f in result.failures]
        show_json({"picks": rows, "failures": failures})
        return
    show_picks(result.picks, as_json=False, empty="no winner")
