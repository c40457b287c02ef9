"""``autotune-lab sweep``: what one parameter does, the others held."""

from pathlib import Path
from typing import Annotated, Any

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import open_store, settings


def command(
    context: typer.Context,
    kernel: Annotated[str, typer.Argument(help="Catalog name, or path/file.py[:attribute].")],
    parameter: Annotated[str, typer.Option(help="Whose values are all measured.")],
    over: Annotated[
        str, typer.Option(help='Problem field to sweep beside it: n, or "n=4096,65536".')
    ] = "",
    problem: Annotated[
        str | None, typer.Option(help="Where; by default the kernel's first problem.")
    ] = None,
    config: Annotated[
        str, typer.Option(help='Values to hold instead of the winner\'s, "num_warps=8".')
    ] = "",
    device: Annotated[str, typer.Option(help="cuda:0, replay, interpreter, ...")] = "auto",
    rounds: Annotated[int, typer.Option(help="Interleaved rounds; six or more.", min=6)] = 9,
    workers: Annotated[int | None, typer.Option(help="Compiler processes.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the figure.")] = Path("out/sweep"),
    as_json: JsonOption = False,
) -> None:
    """Sweep one parameter, the others held.

    They are held at the winner that the store has, else at the declared default, and that is said.
    Each value is measured in interleaved rounds; the table and the figure have 95% intervals of the
    median. Trials are stored as any other.
    """
    from autotune_lab.cli.progress import observer
    from autotune_lab.definitions import Problem
    from autotune_lab.reporting.sweeps import finding, sweep_figure, write_sweep
    from autotune_lab.tuning.holding import parse_values
    from autotune_lab.tuning.sweep import SweepQuestion, sweep

    name, values = _field(over)
    asked = SweepQuestion(
        kernel=kernel,
        parameter=parameter,
        device=device,
        problem=Problem.parse(problem) if problem else None,
        over=name,
        over_values=values,
        given=parse_values(config),
        rounds=rounds,
    )
    root = settings(context).root
    with open_store(context, create=True) as store, observer(as_json=as_json) as observe:
        found = sweep(asked, store, root=root, observe=observe, compile_workers=workers)
    held = f"{found.held.config} ({found.held.origin})"
    picture = None
    if found.table["efficiency"].notna().any():
        picture = write_sweep(sweep_figure(found.table, held=held, over=name), out)
    rows = found.table.to_dict("records")
    if as_json:
        told = {"kernel": found.kernel, "parameter": parameter, "device_model": found.device_model}
        extra = {"notice": found.notice, "figure": picture and str(picture)}
        show_json({**told, "held": held, **extra, "values": [_record(row) for row in rows]})
    else:
        show([_row(row, name) for row in rows], as_json=False)
        typer.echo(f"{finding(found.table, over=name)}.\nheld: {held}")
        typer.echo(f"figure: {picture}" if picture else "no value runs, so there is no figure")
        if found.notice:
            typer.echo(f"note: {found.notice}")
    if picture is None:
        raise typer.Exit(1)


def _field(text: str) -> tuple[str, list[Any]]:
    """Read ``n`` or ``n=4096,65536``."""
    from autotune_lab.definitions import Problem

    name, equals, values = text.partition("=")
    if not equals:
        return name.strip(), []
    name = name.strip()
    return name, [Problem.parse(f"{name}={value}")[name] for value in values.split(",")]


def _row(row: Any, over: str) -> dict[str, Any]:
    from autotune_lab.cli.intervals import told
    from autotune_lab.measuring.statistics import Interval

    is_timed = row["median_ms"] == row["median_ms"]
    time = Interval(row["median_ms"], *_known(row["low_ms"], row["high_ms"])) if is_timed else None
    marks = {"held": row["is_held"], "best": row["is_best"], "tied": row["is_tied"]}
    return {
        **({over: row["over"]} if over else {}),
        str(row["parameter"]): row["value"],
        "time_ms": told(time, row["state"]),
        "of the best": f"{row['efficiency']:.1%}" if is_timed else "",
        "note": ", ".join(name for name, holds in marks.items() if holds) or row["reason"],
    }


def _known(low_ms: float, high_ms: float) -> tuple[float | None, float | None]:
    return (None, None) if low_ms != low_ms else (low_ms, high_ms)


def _record(row: Any) -> dict[str, Any]:
    config = row["config"]
    return {**row, "config": dict(config) if config is not None else None}
