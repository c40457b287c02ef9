"""Holds a fused kernel against the PyTorch operations that it replaces: time, bytes, launches.

Both are measured by the protocol, in shuffled, interleaved rounds on the same fresh inputs; the
gain is the median over rounds of the ratio of the two, for what slows a round slows both. Without a
GPU nothing is timed: bytes are counted on tensors without data, and launches stay unknown.
"""

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autotune_lab import catalog
from autotune_lab.compiling.ahead import shapes_of_inputs
from autotune_lab.definitions import KernelDefinition, Problem
from autotune_lab.devices.opening import resolve
from autotune_lab.errors import UsageError
from autotune_lab.execution.asking import run_job
from autotune_lab.execution.base import Executor
from autotune_lab.execution.opening import open_executor
from autotune_lab.measuring.statistics import Interval, median_interval
from autotune_lab.measuring.traffic import count_traffic
from autotune_lab.records import (
    Footprint,
    Limits,
    MeasureJob,
    Phase,
    Protocol,
    Source,
    TrialState,
)
from autotune_lab.store.store import Store
from autotune_lab.tuning.holding import Held, held
from autotune_lab.tuning.opening import OpenContext, look_at
from autotune_lab.tuning.study import Task

ROUNDS = 9
SIDES = ("fused", "unfused")


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionQuestion:
    """What is compared.

    Attributes:
        kernel: a reference.
        device: a spec.
        problems: what for; empty for those that the kernel declares.
        given: values that replace those of the winner's or the default's config.
        rounds: how often both sides are measured.
        protocol: how.
    """

    kernel: str
    device: str = "auto"
    problems: Sequence[Problem] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = ROUNDS
    protocol: Protocol = Protocol()


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        times_ms: the median of each round.
        time: their median with its interval; of a winner that was not timed now, the stored one.
        launches, moved_bytes: of one launch, None where unknown. The fused kernel moves what the
            work model says, the sequence what its operations read and write.
        reason: why something is unknown; ``""`` if nothing is.
    """

    times_ms: tuple[float, ...] = ()
    time: Interval | None = None
    launches: int | None = None
    moved_bytes: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A fused kernel on one problem against what it replaces.

    Attributes:
        gain: how many times faster it is, with its interval; None if it was not timed.
        is_timed: the device can time both.
    """

    context: OpenContext
    held: Held
    fused: Side
    unfused: Side
    gain: Interval | None
    is_timed: bool


def compare(
    asked: FusionQuestion, store: Store, *, root: Path, tell: Callable[[str], None]
) -> list[Comparison]:
    """Compare on each problem.

    Args:
        asked: what.
        store: is asked for winners; nothing is written to it.
        root: of the lab.
        tell: told in a line what is being done.

    Raises:
        UsageError: the kernel replaces nothing, or the config is not valid.
        DeviceError: the device can't be had.
    """
    definition = catalog.load(asked.kernel, root=root)
    if definition.replaces is None:
        raise UsageError(
            f"kernel {definition.name!r} does not say which PyTorch operations it replaces; "
            "give its definition replaces=lambda args: ..."
        )
    spec = resolve(asked.device)
    with tempfile.TemporaryDirectory(prefix="autotune-lab-") as logs:
        executor = open_executor(spec, Limits(), log_dir=Path(logs))
        try:
            hello = executor.start()
            found = []
            for problem in asked.problems or definition.problems:
                task = Task(asked.kernel, problem, spec, "", 0)
                opened = look_at(task, asked.protocol, hello, root=root)
                chosen = held(opened, store, asked.given)
                tell(f"{opened.context.label}: {chosen.config} ({chosen.origin})")
                if hello.device.source in (Source.GPU, Source.FAKE):
                    found.append(_timed(executor, opened, chosen, asked.rounds))
                else:
                    found.append(_counted(definition, opened, chosen))
            return found
        finally:
            executor.close()


def _timed(executor: Executor, opened: OpenContext, chosen: Held, rounds: int) -> Comparison:
    """Measure both sides in turns; a side that fails ends it."""
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    prints: dict[str, Footprint] = dict.fromkeys(SIDES, Footprint())
    job = MeasureJob(
        kernel=opened.reference,
        problem=opened.context.problem,
        config=chosen.config,
        protocol=opened.context.protocol,
        phase=Phase.PLAYOFF,
    )
    for number in range(1, rounds + 1):
        order = list(SIDES)
        random.Random(f"{job.protocol.seed}:{number}").shuffle(order)
        for side in order:
            is_first = number == 1
            asked = replace(
                job, round=number, replaced=side == "unfused", verify=is_first, count=is_first
            )
            outcome = run_job(executor, asked)
            if outcome.state is not TrialState.OK or outcome.measurement is None:
                failed = Side(reason=f"{outcome.state}: {outcome.reason}")
                sides = {name: failed if name == side else Side() for name in SIDES}
                return Comparison(opened, chosen, **sides, gain=None, is_timed=True)
            times[side].append(outcome.measurement.median_ms)
            prints[side] = outcome.footprint or prints[side]
    ratios = [slow / fast for fast, slow in zip(*(times[side] for side in SIDES), strict=True)]
    fused = _side(times["fused"], prints["fused"])
    return Comparison(
        opened,
        chosen,
        fused=replace(fused, moved_bytes=opened.work.bytes),
        unfused=_side(times["unfused"], prints["unfused"]),
        gain=median_interval(ratios),
        is_timed=True,
    )


def _side(times_ms: Sequence[float], footprint: Footprint) -> Side:
    return Side(
        tuple(times_ms), median_interval(times_ms), footprint.launches, footprint.moved_bytes
    )


def _counted(definition: KernelDefinition, opened: OpenContext, chosen: Held) -> Comparison:
    """Say what is known where nothing can be timed."""
    pick = chosen.pick
    time = Interval(pick.median_ms, pick.low_ms, pick.high_ms) if pick else None
    launches = pick.resources.launches if pick and pick.resources else None
    fused = Side(time=time, launches=launches, moved_bytes=opened.work.bytes)
    return Comparison(
        opened, chosen, fused, _expected(definition, opened), gain=None, is_timed=False
    )


def _expected(definition: KernelDefinition, opened: OpenContext) -> Side:
    """Count the sequence's bytes on tensors without data."""
    replaces = definition.replaces
    assert replaces is not None
    try:
        args = shapes_of_inputs(definition, opened.context.problem)
        return Side(moved_bytes=count_traffic(lambda: replaces(args)).moved_bytes)
    except Exception as error:  # noqa: BLE001 - the user's code may need values to go on
        first = str(error).partition("\n")[0]
        return Side(reason=f"its bytes can't be counted without data: {first}")
