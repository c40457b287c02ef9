"""Is an export still right on this machine? Re-measures a sample of it against the default."""

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune_lab import catalog
from autotune_lab.errors import AutotuneLabError, ExportError
from autotune_lab.execution.asking import run_job
from autotune_lab.execution.base import Executor
from autotune_lab.execution.opening import open_executor
from autotune_lab.records import Hello, Limits, MeasureJob, Outcome, Phase, Pick
from autotune_lab.spaces.config import Config


@dataclass(frozen=True, slots=True)
class Recheck:
    """One winner, measured again.

    Attributes:
        now_ms, default_ms: medians over fresh, interleaved rounds; None if it did not run.
        exported_ms: what the export says; comparable only on the device model it was tuned on.
        faults: why it is wrong here; none if it is not.
    """

    pick: Pick
    now_ms: float | None
    default_ms: float | None
    exported_ms: float
    faults: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Something about it is wrong by more than the bound."""
        return bool(self.faults)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of an export is measured again, and what counts as wrong.

    Attributes:
        sample: how many winners, drawn by ``seed``; the rest is trusted.
        rounds: of winner and default, in shuffled turns on fresh inputs.
        bound: how much slower than the default, or than exported, is still right.
    """

    sample: int = 8
    rounds: int = 5
    bound: float = 0.1
    seed: int = 0


def recheck(
    picks: Sequence[Pick],
    device: str,
    plan: Plan,
    *,
    root: Path,
    log_dir: Path,
    observe: Callable[[Recheck], None] = lambda _: None,
) -> list[Recheck]:
    """Measure a sample of winners again on a device.

    Only winners of this device model are drawn; if it has none, those of any other.

    Raises:
        ExportError: there is no winner to measure.
        DeviceError: the device can't be had.
    """
    executor = open_executor(device, Limits(), log_dir=log_dir)
    try:
        hello = executor.start()
        own = [pick for pick in picks if pick.context.model.id == hello.device.model.id]
        chosen = own or list(picks)
        if not chosen:
            raise ExportError("the export has no winner, so there is nothing to measure")
        generator = random.Random(plan.seed)
        drawn = generator.sample(chosen, min(plan.sample, len(chosen)))
        found = []
        for pick in drawn:
            found.append(_one(executor, hello, pick, plan, root, generator))
            observe(found[-1])
        return found
    finally:
        executor.close()


def _one(
    executor: Executor, hello: Hello, pick: Pick, plan: Plan, root: Path, generator: random.Random
) -> Recheck:
    reference = pick.context.kernel.reference or pick.context.kernel.name
    try:
        default = catalog.load(reference, root=root).default_config or pick.default_config
    except AutotuneLabError as error:
        return Recheck(pick, None, None, pick.median_ms, (str(error),))
    rivals = [pick.config] if default in (None, pick.config) else [pick.config, default]
    times: dict[Config, list[float]] = {config: [] for config in rivals if config is not None}
    faults: dict[Config, str] = {}
    for number in range(1, plan.rounds + 1):
        turn = [config for config in times if config not in faults]
        for config in generator.sample(turn, len(turn)):
            outcome = _measure(executor, pick, config, number, reference)
            if outcome.measurement is None:
                faults[config] = f"{outcome.state}: {outcome.reason}"
            else:
                times[config].append(outcome.measurement.median_ms)
    medians = {
        config: statistics.median(taken)
        for config, taken in times.items()
        if taken and config not in faults
    }
    now_ms = medians.get(pick.config)
    default_ms = None if default is None else medians.get(default)
    if now_ms is None:
        said = [f"it does not run here: {faults.get(pick.config, 'not measured')}"]
    else:
        said = _slower(now_ms, default_ms, pick, hello, plan.bound)
    return Recheck(pick, now_ms, default_ms, pick.median_ms, tuple(said))


def _measure(
    executor: Executor, pick: Pick, config: Config, number: int, reference: str
) -> Outcome:
    job = MeasureJob(
        kernel=reference,
        problem=pick.context.problem,
        config=config,
        protocol=pick.context.protocol,
        phase=Phase.PLAYOFF,
        round=number,
        verify=number == 1,
    )
    return run_job(executor, job)


def _slower(
    now_ms: float, default_ms: float | None, pick: Pick, hello: Hello, bound: float
) -> list[str]:
    found = []
    if default_ms is not None and now_ms > default_ms * (1 + bound):
        found.append(f"it takes {now_ms / default_ms - 1:.0%} longer than the default")
    is_home = pick.context.model.id == hello.device.model.id
    if is_home and now_ms > pick.median_ms * (1 + bound):
        found.append(f"it takes {now_ms / pick.median_ms - 1:.0%} longer than was exported")
    return found
