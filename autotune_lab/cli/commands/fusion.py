"""``autotune-lab fusion``: a fused kernel against the PyTorch operations that it replaces."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autotune_lab.cli.output import JsonOption, show, show_json
from autotune_lab.cli.state import open_store, settings

if TYPE_CHECKING:
    from autotune_lab.tuning.fusion import Comparison, Side


def command(
    context: typer.Context,
    kernel: Annotated[str, typer.Argument(help="Catalog name, or path/file.py[:attribute].")],
    problem: Annotated[
        list[str] | None, typer.Option(help="Only these problems; repeatable.")
    ] = None,
    device: Annotated[str, typer.Option(help="cuda:0, replay, ...")] = "auto",
    config: Annotated[
        str, typer.Option(help='Values instead of the winner\'s, "BLOCK_M=128,num_warps=8".')
    ] = "",
    rounds: Annotated[int, typer.Option(help="Interleaved rounds; six or more.", min=6)] = 9,
    as_json: JsonOption = False,
) -> None:
    """Compare a fused kernel with what it replaces.

    Time, bytes moved and launches of the winner (else the default) and of the PyTorch operations
    that the kernel replaces, measured in interleaved rounds. Without a GPU bytes are counted and
    nothing is timed, which exits with 3; a side that fails exits with 1.
    """
    from autotune_lab.definitions import Problem
    from autotune_lab.errors import NoDevice, TuningError
    from autotune_lab.tuning.fusion import FusionQuestion, compare
    from autotune_lab.tuning.holding import parse_values

    asked = FusionQuestion(
        kernel=kernel,
        device=device,
        problems=[Problem.parse(text) for text in problem or ()],
        given=parse_values(config),
        rounds=rounds,
    )
    with open_store(context, create=True) as store:
        found = compare(
            asked,
            store,
            root=settings(context).root,
            tell=lambda line: print(line, file=sys.stderr),
        )
    if as_json:
        show_json([_record(comparison) for comparison in found])
    else:
        show([_row(comparison) for comparison in found], as_json=False)
    if any(not comparison.is_timed for comparison in found):
        raise NoDevice("nothing was timed, for that takes a GPU; bytes are counted without data")
    reasons = [side.reason for c in found for side in (c.fused, c.unfused) if side.reason]
    if reasons:
        raise TuningError(f"not everything could be measured: {reasons[0]}")


def _row(comparison: "Comparison") -> dict[str, Any]:
    from autotune_lab.cli.intervals import told

    fused, unfused = comparison.fused, comparison.unfused
    return {
        "problem": str(comparison.context.context.problem),
        "config of": comparison.held.origin,
        "fused_ms": told(fused.time, fused.reason or "not timed"),
        "torch_ms": told(unfused.time, unfused.reason or "not timed"),
        "gain": told(comparison.gain),
        "fused_mb": _megabytes(fused),
        "torch_mb": _megabytes(unfused),
        "fused launches": _known(fused.launches),
        "torch launches": _known(unfused.launches),
    }


def _record(comparison: "Comparison") -> dict[str, Any]:
    from autotune_lab.cli.intervals import plain

    context = comparison.context.context
    return {
        "kernel": context.kernel.name,
        "problem": dict(context.problem),
        "device_model": context.model.slug,
        "source": context.source.value,
        "config": dict(comparison.held.config),
        "held": comparison.held.origin,
        "is_timed": comparison.is_timed,
        "gain": plain(comparison.gain),
        "fused": _side(comparison.fused),
        "unfused": _side(comparison.unfused),
    }


def _side(side: "Side") -> dict[str, Any]:
    from autotune_lab.cli.intervals import plain

    return {
        "time_ms": plain(side.time),
        "rounds_ms": side.times_ms,
        "moved_bytes": side.moved_bytes,
        "launches": side.launches,
        "reason": side.reason,
    }


def _megabytes(side: "Side") -> Any:
    return "unknown" if side.moved_bytes is None else side.moved_bytes / 1e6


def _known(count: int | None) -> Any:
    return "unknown" if count is None else count
