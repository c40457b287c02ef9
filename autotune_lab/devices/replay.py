"""Answers from a recording of a GPU, so that studies run on real measurements without one.

``replay`` reads the newest bundled recording, ``replay:FILE`` another; ``@nvidia-h200-64sm`` picks
one of its device models. A screening is given back as it was recorded. A round, of a playoff or a
sweep, that was not recorded is drawn from the recorded samples, so that its noise is real noise.
"""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autotune_lab import recording
from autotune_lab.definitions import Problem
from autotune_lab.devices.base import Capabilities, Ceilings
from autotune_lab.errors import NoDevice, UsageError
from autotune_lab.recording import RecordedContext
from autotune_lab.records import (
    Device,
    DeviceModel,
    Environment,
    KernelIdentity,
    MeasureJob,
    Measurement,
    Outcome,
    Phase,
    Protocol,
    Source,
    Trial,
    TrialState,
)

CAPABILITIES = Capabilities(compiles=False, recorded=True, isolated=False)

_BUNDLED = Path(__file__).parents[1] / "recordings"
_SHORT = 3


class ReplayDevice:
    """One device model of a recording.

    Args:
        path: where the recording came from, for messages.
        contexts: all that was recorded on the model; of two with one kernel and problem the later
            one counts.
    """

    def __init__(self, path: Path, contexts: Sequence[RecordedContext]) -> None:
        self._path = path
        self._contexts = {(c.context.kernel.name, c.context.problem.id): c for c in contexts}
        self._first = contexts[0]
        self._trials: dict[str, Mapping[str, Trial]] = {}

    @property
    def capabilities(self) -> Capabilities:
        """It runs nothing, so it needs no process of its own."""
        return CAPABILITIES

    @property
    def ceilings(self) -> Ceilings:
        """What was measured of the recorded device."""
        recorded = self._first
        return Ceilings(recorded.launch_floor_ms, recorded.copy_gbs, recorded.matmul_tflops)

    def probe(self) -> Device:
        """Return the recorded device model."""
        model = self._first.context.model
        return Device(model, uuid=f"replay-{model.id}", source=Source.REPLAY)

    def environment(self) -> Environment:
        """Return the software of the recording."""
        return self._first.context.environment

    def caveat(self, kernel: KernelIdentity, problem: Problem) -> str:
        """Say in a line whether the recording was made with other code; else ``""``.

        Raises:
            NoDevice: it holds nothing of this kernel and problem; the message lists what it has.
        """
        recorded = self._find(kernel.name, problem).context.kernel
        if recorded.code_hash == kernel.code_hash:
            return ""
        return (
            f"{kernel.name} has changed since {self._path.name} was recorded "
            f"(code {recorded.code_hash[:8]}, now {kernel.code_hash[:8]}); its times are of the old"
        )

    def recall(self, job: MeasureJob) -> Outcome:
        """Return what was recorded for a job; a config that was not recorded is ``illegal``.

        Raises:
            NoDevice: nothing of its kernel and problem was recorded, or under another protocol.
        """
        recorded = self._find(_kernel_name(job.kernel), job.problem)
        self._check_protocol(recorded.context.protocol, job.protocol)
        trial = self._by_config(recorded).get(job.config.id)
        if trial is None:
            return Outcome(TrialState.ILLEGAL, reason=f"not recorded in {self._path.name}")
        return _replayed(trial, job)

    def _find(self, kernel: str, problem: Problem) -> RecordedContext:
        try:
            return self._contexts[kernel, problem.id]
        except KeyError:
            held = "; ".join(
                f"{c.context.kernel.name} {c.context.problem}" for c in self._contexts.values()
            )
            model = self._first.context.model.slug
            raise NoDevice(
                f"{self._path.name} has nothing of {kernel} {problem} on {model}; it has {held}"
            ) from None

    def _check_protocol(self, recorded: Protocol, asked: Protocol) -> None:
        for name in ("cache", "timer"):
            if getattr(recorded, name) != getattr(asked, name):
                raise NoDevice(
                    f"{self._path.name} was recorded with {name} {getattr(recorded, name)!r}, "
                    f"not {getattr(asked, name)!r}; ask for that, or measure on a GPU"
                )

    def _by_config(self, recorded: RecordedContext) -> Mapping[str, Trial]:
        key = recorded.context.id
        if key not in self._trials:
            self._trials[key] = {trial.config.id: trial for trial in recorded.trials}
        return self._trials[key]


def missing() -> str:
    """Say whether no recording is bundled."""
    return "" if _bundled() else f"no recording is bundled in {_BUNDLED}"


def open(argument: str, part: str) -> ReplayDevice:  # noqa: A001 - the plug-in contract's name
    """Open a recording and pick the device model that ``part`` names, else its whole card.

    Raises:
        NoDevice: there is no recording, or no such model in it.
        UsageError: it holds several whole cards and ``part`` is empty.
        ImportFailed: the file can't be read.
    """
    path = Path(argument) if argument else _bundled()
    if path is None:
        raise NoDevice(f"{missing()}; name one with --device replay:FILE")
    contexts = recording.read(path).contexts
    model = _choose(path, contexts, part)
    return ReplayDevice(path, [c for c in contexts if c.context.model.id == model.id])


def _bundled() -> Path | None:
    """Return the newest bundled recording; names begin with the date."""
    return max(_BUNDLED.glob("*.jsonl.gz"), key=lambda path: path.name, default=None)


def _choose(path: Path, contexts: Sequence[RecordedContext], part: str) -> DeviceModel:
    models = list({c.context.model.id: c.context.model for c in contexts}.values())
    slugs = ", ".join(model.slug for model in models) or "none"
    if part:
        fitting = [m for m in models if part in (m.slug, m.partition, m.id)]
    else:
        fitting = [m for m in models if not m.partition] or models
    if not fitting:
        raise NoDevice(f"{path.name} has no device model {part!r}; it has {slugs}")
    if len(fitting) > 1:
        raise UsageError(f"{path.name} has several device models; pick one of {slugs} with @MODEL")
    return fitting[0]


def _kernel_name(reference: str) -> str:
    """Return the kernel's name in ``"matmul"``, ``"dir/matmul.py"`` or ``"file.py:matmul"``."""
    file, _, attribute = reference.partition(":")
    return attribute or Path(file).stem


def _replayed(trial: Trial, job: MeasureJob) -> Outcome:
    outcome = Outcome(
        trial.state,
        reason=trial.reason,
        detail=trial.detail,
        resources=trial.resources,
        numerics=trial.numerics,
        raw_time=trial.raw_time,
        launches=trial.launches,
    )
    measurement = _measurement(trial, job)
    if measurement is None:
        return outcome
    limit_ms = job.protocol.screen_ratio * job.best_ms if job.best_ms else None
    if job.phase is Phase.SCREEN and limit_ms is not None and measurement.median_ms > limit_ms:
        short = _cut(measurement, measurement.samples_ms[:_SHORT])
        reason = f"slower than {job.protocol.screen_ratio:g}x the best, {job.best_ms:.4g} ms"
        return replace(outcome, state=TrialState.PRUNED, reason=reason, measurement=short)
    return replace(outcome, measurement=measurement, launches=len(measurement.samples_ms))


def _measurement(trial: Trial, job: MeasureJob) -> Measurement | None:
    if not trial.measurements:
        return None
    playoff = {m.round: m for m in trial.measurements if m.phase is Phase.PLAYOFF}
    screens = [m for m in trial.measurements if m.phase is not Phase.PLAYOFF]
    if job.phase is not Phase.PLAYOFF and not job.round:
        first = screens[0] if screens else trial.measurements[0]
        return replace(first, phase=job.phase, round=job.round)
    if job.round in playoff:
        return replace(playoff[job.round], phase=job.phase)
    draw = random.Random(f"{trial.context_id}:{trial.config.id}:{job.protocol.seed}:{job.round}")
    # Two measurements differ by more than the samples of one do, so first draw a measurement.
    base = draw.choice(list(playoff.values()) or screens)
    samples = tuple(draw.choices(base.samples_ms, k=len(base.samples_ms)))
    return replace(_cut(base, samples), phase=job.phase, round=job.round)


def _cut(measurement: Measurement, samples_ms: tuple[float, ...]) -> Measurement:
    """Return the measurement with other samples; its interval was that of the old ones."""
    median_ms = statistics.median(samples_ms)
    return replace(
        measurement, samples_ms=samples_ms, median_ms=median_ms, low_ms=None, high_ms=None
    )
