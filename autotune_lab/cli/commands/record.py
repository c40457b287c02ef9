"""``autotune-lab record``: the store's contexts as one small file."""

from pathlib import Path
from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption, show_json
from autotune_lab.cli.queries import KernelOption, ModelOption, ProblemOption, StudyOption
from autotune_lab.cli.state import open_store


def command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A new file, NAME.jsonl.gz.", metavar="FILE")],
    kernel: KernelOption = None,
    problem: ProblemOption = None,
    device_model: ModelOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a recording to share, import, or replay.

    Holds every finished trial with its raw samples; simulated times are left out.
    """
    from autotune_lab import recording
    from autotune_lab.errors import UsageError
    from autotune_lab.store import recorder
    from autotune_lab.store.query import Query

    if file.exists() or not file.name.endswith(".jsonl.gz"):
        raise UsageError(f"{file} must be a new file whose name ends in .jsonl.gz")
    query = Query(kernel=kernel, problem=problem, device_model=device_model, study=study)
    with open_store(context) as store:
        contexts = recorder.dump(store, query)
    if not contexts:
        raise UsageError(f"nothing in {store.url_display} matches, so {file} was not written")
    recording.write(file, contexts)
    summary = {
        "file": str(file),
        "contexts": len(contexts),
        "trials": sum(len(entry.trials) for entry in contexts),
    }
    if as_json:
        show_json(summary)
    else:
        typer.echo(f"wrote {file}: {summary['contexts']} contexts, {summary['trials']} trials")
