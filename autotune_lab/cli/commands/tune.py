"""``autotune-lab tune``: one kernel on one device."""

from typing import Annotated

import typer

from autotune_lab.cli.output import JsonOption


def command(
    context: typer.Context,
    kernel: Annotated[str, typer.Argument(help="Catalog name, or path/file.py[:attribute].")],
    problem: Annotated[
        list[str] | None,
        typer.Option(help='Problem such as "M=4096,N=4096,K=4096,dtype=bfloat16"; repeatable.'),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(help="cuda:0, cuda:0@64sm, interpreter, replay[:FILE][@MODEL]; repeatable."),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option(
            help="Tune on every device of a Ray cluster: auto, local or HOST:PORT; with --device "
            "on its devices of one model, such as nvidia-h200.",
            show_default=False,
        ),
    ] = "",
    sampler: Annotated[str, typer.Option(help="tpe, random, exhaustive, lab, ...")] = "tpe",
    trials: Annotated[int | None, typer.Option(help="Distinct configs per problem.")] = 200,
    seconds: Annotated[float | None, typer.Option(help="Screening time per problem.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampler and of the inputs.")] = 0,
    hot: Annotated[
        bool, typer.Option("--hot", help="Leave the L2 as it is between launches.")
    ] = False,
    compile_seconds: Annotated[float, typer.Option(help="Limit of one compilation.")] = 60.0,
    run_seconds: Annotated[float, typer.Option(help="Limit of one config on the device.")] = 30.0,
    transfer: Annotated[
        bool, typer.Option("--transfer", help="Also run each winner in the other contexts.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Compiler processes.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tune a kernel.

    Screens its space, plays the leaders off, stores everything.

    Run it again to go on where it stopped; nothing that is stored is measured twice.
    """
    from autotune_lab.cli.studying import conduct
    from autotune_lab.definitions import Problem
    from autotune_lab.records import Limits, Phase, Protocol
    from autotune_lab.tuning.study import Budget, Study

    exhaustive = sampler == "exhaustive"
    study = Study(
        name=f"tune {kernel}",
        kernels=[kernel],
        problems={kernel: [Problem.parse(text) for text in problem]} if problem else {},
        devices=device or ["auto"],
        cluster=cluster,
        samplers=[sampler],
        seeds=[seed],
        budget=Budget(trials=None if exhaustive else trials, seconds=seconds),
        protocol=Protocol(seed=seed, cache="hot" if hot else "cold"),
        limits=Limits(compile_s=compile_seconds, run_s=run_seconds),
        phases=[Phase.SCREEN, Phase.PLAYOFF] + ([Phase.TRANSFER] if transfer else []),
    )
    conduct(context, study, dry_run=dry_run, as_json=as_json, workers=workers)
