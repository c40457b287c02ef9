"""The vocabulary that crosses stages and processes: frozen values, no torch, no SQL.

A job goes to a worker, an outcome comes back, a trial is stored, a pick is exported. Times are in
ms, sizes in bytes, rates in GB/s, clocks in MHz, power in W, temperatures in degrees Celsius.
"""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from autotune_lab.codec import to_plain
from autotune_lab.definitions import Problem
from autotune_lab.processes import Lost
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.values import canonical, digest


class TrialState(enum.StrEnum):
    """How a trial ended; ``RUNNING`` is the only state that is not an end."""

    RUNNING = "running"
    OK = "ok"
    ILLEGAL = "illegal"
    COMPILE_ERROR = "compile_error"
    OUT_OF_RESOURCES = "out_of_resources"
    LAUNCH_ERROR = "launch_error"
    COMPILE_TIMEOUT = "compile_timeout"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    WRONG_RESULT = "wrong_result"
    UNSTABLE = "unstable"
    BAD_TIMING = "bad_timing"
    PRUNED = "pruned"
    INTERRUPTED = "interrupted"

    @property
    def is_failure(self) -> bool:
        """The config did not run correctly here (``pruned`` ran, ``interrupted`` is unknown)."""
        return self not in _NOT_FAILURES


_NOT_FAILURES = {TrialState.OK, TrialState.PRUNED, TrialState.RUNNING, TrialState.INTERRUPTED}


class Source(enum.StrEnum):
    """Where numbers come from; ``GPU``, ``IMPORTED``, ``LISTENED`` were measured as they stand."""

    GPU = "gpu"
    IMPORTED = "imported"
    LISTENED = "listened"
    REPLAY = "replay"
    INTERPRETER = "interpreter"
    FAKE = "fake"

    @property
    def is_simulated(self) -> bool:
        """Times mean nothing for any GPU, so they are kept out of winners, exports and reports."""
        return self in (Source.INTERPRETER, Source.FAKE)

    @property
    def notice(self) -> str:
        """What every surface says beside such numbers; empty for real measurements."""
        return _NOTICES.get(self, "")


_NOTICES = {
    Source.IMPORTED: "measured elsewhere by another tool and imported",
    Source.LISTENED: "measured by triton.autotune in a user's program; outputs were not verified",
    Source.REPLAY: "replayed from recorded GPU measurements; nothing was measured on this machine",
    Source.INTERPRETER: "interpreter: times say nothing about any GPU",
    Source.FAKE: "fake timer: times are scripted",
}


class Phase(enum.StrEnum):
    """Why a trial was measured; ``CALIBRATION`` compares devices of one model by one config."""

    SCREEN = "screen"
    PLAYOFF = "playoff"
    TRANSFER = "transfer"
    CALIBRATION = "calibration"
    SWEEP = "sweep"


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """What a config is tuned and exported for; two models never share a winner.

    Attributes:
        name: the driver's name, exactly (``"NVIDIA H200"``).
        vendor: ``"nvidia"``, ``"amd"`` or ``"none"``.
        architecture: ``"sm_90"``, ``"gfx942"``, ...
        sm_count: streaming multiprocessors (compute units) that launches may use.
        memory_bytes: total device memory.
        partition: ``""`` for the whole card, ``"64sm"`` for a green context, else the MIG profile.
        power_limit_w: the enforced power cap, or 0 when it can't be read.
    """

    name: str
    vendor: str
    architecture: str
    sm_count: int
    memory_bytes: int
    partition: str = ""
    power_limit_w: int = 0
    l2_bytes: int = 0
    max_shared_bytes: int = 0
    warp_size: int = 32
    max_threads_per_sm: int = 2048
    registers_per_sm: int = 65536

    @property
    def id(self) -> str:
        """Identity: name, architecture, SM count, memory (whole GiB), power cap, partition."""
        memory_gib = round(self.memory_bytes / 2**30)
        return digest(
            {
                "name": self.name,
                "architecture": self.architecture,
                "sm_count": self.sm_count,
                "memory_gib": memory_gib,
                "power_limit_w": self.power_limit_w,
                "partition": self.partition,
            }
        )

    @property
    def slug(self) -> str:
        """A readable name, ``nvidia-h200`` or ``nvidia-h200-64sm``; unique only with ``id``."""
        words = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "unnamed"
        tail = re.sub(r"[^a-z0-9]+", "-", self.partition.lower()).strip("-")
        return f"{words}-{tail}" if tail else words


@dataclass(frozen=True, slots=True)
class Environment:
    """The software that a time was measured under. The lab's version is kept beside, not inside."""

    driver: str = ""
    runtime: str = ""
    torch: str = ""
    triton: str = ""
    compiler: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Identity of the environment; any difference opens a new context."""
        return digest(to_plain(self) | {"variables": sorted(self.variables.items())})

    def differences(self, other: "Environment") -> list[str]:
        """Name each field that differs, as ``"triton 3.6.0 -> 3.9.0"``."""
        return [
            f"{f.name} {getattr(other, f.name)} -> {getattr(self, f.name)}"
            for f in fields(self)
            if getattr(self, f.name) != getattr(other, f.name)
        ]


@dataclass(frozen=True, slots=True)
class Device:
    """A physical device, or a part of one, as its worker found it."""

    model: DeviceModel
    uuid: str
    source: Source


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a stored time means. All of it is part of every context.

    Attributes:
        version: raised whenever the code that measures changes what a number means.
        cache: ``"cold"`` (L2 flushed between launches) or ``"hot"``.
        timer: ``"events"`` (one launch between two device events) or ``"graph"`` (unrolled replay).
        warmup_ms: load put on the device before the first sample.
        min_samples, max_samples: bounds of the adaptive sampling.
        target_relative_interval: half-width of the median's 95% interval at which sampling stops.
        budget_ms: wall clock of one measurement, flush included.
        screen_ratio: a config slower than this times the best is given up early.
        playoff_ratio, playoff_size, playoff_rounds: who is re-measured, how many, how often.
        seed: root of all random inputs.
    """

    version: int = 1
    cache: str = "cold"
    timer: str = "events"
    warmup_ms: float = 200.0
    min_samples: int = 5
    max_samples: int = 100
    target_relative_interval: float = 0.01
    budget_ms: float = 400.0
    screen_ratio: float = 2.0
    playoff_ratio: float = 1.5
    playoff_size: int = 16
    playoff_rounds: int = 9
    seed: int = 0

    def __post_init__(self) -> None:
        if self.cache not in ("cold", "hot"):
            raise ValueError(f"cache is {self.cache!r}; use 'cold' or 'hot'")
        if self.timer not in ("events", "graph"):
            raise ValueError(f"timer is {self.timer!r}; use 'events' or 'graph'")
        if not 1 <= self.min_samples <= self.max_samples:
            raise ValueError(f"min_samples {self.min_samples} is not in 1..{self.max_samples}")

    @property
    def id(self) -> str:
        """Identity of the protocol; times under different ids are never compared."""
        return digest(to_plain(self))


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a stage may take before its process is killed, in seconds."""

    compile_s: float = 60.0
    run_s: float = 30.0


@dataclass(frozen=True, slots=True)
class KernelIdentity:
    """Which code was measured: the same name with another hash is another kernel.

    Attributes:
        code_hash: of the kernel, launch and inputs, with what they call and the globals they read.
        reference_hash: of the reference and tolerances; when it changes, results need re-checking.
        reference: how a worker finds it: a bundled name, or ``path/file.py:attr``. Not identity.
    """

    name: str
    code_hash: str
    reference_hash: str = ""
    reference: str = ""

    @property
    def id(self) -> str:
        """Identity of the code and its judge."""
        return digest({"n": self.name, "c": self.code_hash, "r": self.reference_hash})


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that must be equal for two times to be compared."""

    kernel: KernelIdentity
    problem: Problem
    model: DeviceModel
    environment: Environment
    protocol: Protocol
    source: Source

    @property
    def id(self) -> str:
        """Identity of the context."""
        return digest(
            {
                "kernel": self.kernel.id,
                "problem": self.problem.id,
                "model": self.model.id,
                "environment": self.environment.id,
                "protocol": self.protocol.id,
                "source": self.source.value,
            }
        )

    @property
    def label(self) -> str:
        """``matmul M=4096,... on nvidia-h200``."""
        return f"{self.kernel.name} {self.problem} on {self.model.slug}"


@dataclass(frozen=True, slots=True)
class Resources:
    """What the compiler used for a config; the largest over the kernels that a launch starts."""

    shared_bytes: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    stack_bytes: int | None = None
    threads: int | None = None
    num_ctas: int | None = None
    launches: int | None = None
    compile_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The device around one measurement; None where it can't be read."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    other_processes: int = 0


@dataclass(frozen=True, slots=True)
class Numerics:
    """How far the outputs were from the reference, and what was allowed."""

    max_absolute_error: float | None = None
    max_relative_error: float | None = None
    tolerance: float | None = None
    output_rms: float | None = None


FLAG_THROTTLED = "throttled"
FLAG_CONTENDED = "contended"
FLAG_LAUNCH_BOUND = "launch_bound"
FLAG_NOISY = "noisy"
FLAG_RETRIED = "retried"
DISQUALIFYING_FLAGS = frozenset({FLAG_THROTTLED, FLAG_CONTENDED})


@dataclass(frozen=True, slots=True)
class Measurement:
    """Raw samples of one config in one phase, and the median that stands for them.

    Attributes:
        samples_ms: every sample, in the order taken.
        median_ms, low_ms, high_ms: the median and its 95% interval (order statistics).
        round: playoff, calibration or sweep round, 0 in first looks.
        flags: ``FLAG_*``; a disqualifying flag keeps it out of the choice of a winner.
        seed: the seed of its inputs.
        taken_at: UTC, ISO 8601.
        device_uuid: where it was taken; ``""`` where its trial ran.
    """

    phase: Phase
    samples_ms: tuple[float, ...]
    median_ms: float
    low_ms: float | None = None
    high_ms: float | None = None
    round: int = 0
    flags: tuple[str, ...] = ()
    seed: int = 0
    taken_at: str = ""
    telemetry: Telemetry = Telemetry()
    device_uuid: str = ""

    @property
    def is_eligible(self) -> bool:
        """Nothing about it disqualifies it from choosing a winner."""
        return not DISQUALIFYING_FLAGS & set(self.flags)


@dataclass(frozen=True, slots=True)
class MeasureJob:
    """One request to the process that owns the device.

    Attributes:
        kernel: reference string of the definition (a bundled name or ``path/file.py:attr``).
        best_ms: the best time so far in this context, for early stopping; None while unknown.
        verify: check the outputs before timing and after the last timed launch.
        round: playoff round; each round draws fresh inputs.
        replaced: measure the PyTorch operations that the kernel replaces, in its stead and by the
            same protocol; they are not verified.
        count: also count what one launch puts on the device.
    """

    kernel: str
    problem: Problem
    config: Config
    protocol: Protocol
    phase: Phase = Phase.SCREEN
    round: int = 0
    best_ms: float | None = None
    verify: bool = True
    replaced: bool = False
    count: bool = False


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one launch puts on the device; None where nobody can tell.

    Attributes:
        launches: kernels, copies and fills that the device ran.
        operations, moved_bytes: of PyTorch, counted one after the other as ``traffic`` does.
    """

    launches: int | None = None
    operations: int | None = None
    moved_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One request to the compiler pool; ``model`` gives the target and its limits."""

    kernel: str
    problem: Problem
    config: Config
    model: DeviceModel


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back of a job: a state with its reason, and whatever was learnt on the way.

    Attributes:
        state: ``OK`` with a measurement (or, from the compiler, with resources), ``PRUNED`` with a
            short one, or a failure with its reason.
        reason: the first line of what went wrong, for a person.
        detail: exception class, signal, log tail: for whoever looks closer.
        raw_time: the text of a time that was not a time (``bad_timing``).
        launches: timed launches done before it ended.
        retire: the process must be replaced before the next job (the device context is suspect).
        elapsed_ms: wall clock spent on the job.
        footprint: of one launch, if the job asked for it.
    """

    state: TrialState
    reason: str = ""
    detail: str = ""
    measurement: Measurement | None = None
    resources: Resources | None = None
    numerics: Numerics | None = None
    raw_time: str | None = None
    launches: int = 0
    retire: bool = False
    elapsed_ms: float = 0.0
    footprint: Footprint | None = None

    @classmethod
    def of_loss(cls, lost: Lost, states: Mapping[str, TrialState]) -> "Outcome":
        """Say how a job ended whose process was lost, by ``RUN_LOSSES`` or ``COMPILE_LOSSES``."""
        return cls(
            state=states[lost.kind],
            reason=str(lost),
            detail=lost.log_tail,
            launches=lost.progress,
            elapsed_ms=lost.elapsed_ms,
        )


RUN_LOSSES: Mapping[str, TrialState] = {
    "timeout": TrialState.TIMEOUT,
    "signal": TrialState.CRASHED,
    "exit": TrialState.CRASHED,
    "protocol": TrialState.CRASHED,
}
COMPILE_LOSSES: Mapping[str, TrialState] = {
    "timeout": TrialState.COMPILE_TIMEOUT,
    "signal": TrialState.COMPILE_ERROR,
    "exit": TrialState.COMPILE_ERROR,
    "protocol": TrialState.COMPILE_ERROR,
}


@dataclass(frozen=True, slots=True)
class Trial:
    """One config in one context, with how it ended and all that was measured of it."""

    context_id: str
    config: Config
    state: TrialState
    number: int = 0
    attempt: int = 1
    reason: str = ""
    detail: str = ""
    raw_time: str | None = None
    launches: int = 0
    resources: Resources | None = None
    numerics: Numerics | None = None
    measurements: tuple[Measurement, ...] = ()
    started_at: str = ""
    finished_at: str = ""
    device_uuid: str = ""
    id: int | None = None

    @classmethod
    def from_outcome(
        cls, context_id: str, config: Config, outcome: Outcome, *, number: int, trial_id: int
    ) -> "Trial":
        """Return the finished trial that an outcome makes of a claimed config."""
        return cls(
            context_id=context_id,
            config=config,
            state=outcome.state,
            number=number,
            reason=outcome.reason,
            detail=outcome.detail,
            raw_time=outcome.raw_time,
            launches=outcome.launches,
            resources=outcome.resources,
            numerics=outcome.numerics,
            measurements=() if outcome.measurement is None else (outcome.measurement,),
            id=trial_id,
        )

    @property
    def screen_ms(self) -> float | None:
        """Median of the first measurement outside a playoff; None unless it ran correctly."""
        if self.state is not TrialState.OK:
            return None
        for measurement in self.measurements:
            if measurement.phase is not Phase.PLAYOFF:
                return measurement.median_ms
        return None

    @property
    def is_eligible(self) -> bool:
        """It ran correctly and some screening of it was neither throttled nor contended."""
        return self.state is TrialState.OK and any(m.is_eligible for m in self.measurements)


@dataclass(frozen=True, slots=True)
class Pick:
    """A winner and the evidence for it, as chosen by a playoff.

    Attributes:
        median_ms, low_ms, high_ms: over fresh playoff rounds, not the time that won selection.
        chosen_ms: the screening time that put it among the leaders.
        default_ms: the declared default in the same rounds; None if it does not run.
        tied: ids of the configs that can't be told apart from it, its own included.
        best_probability: bootstrap probability over rounds that it is the fastest.
        rounds: playoff rounds; 0 means "not re-measured".
        candidates: how many configs were compared with it in the playoff.
        trials, space_size: how much of the space was seen.
        flags: ``FLAG_*`` of its measurements, ``"no_competition"``, ``"not_remeasured"``,
            ``"below_launch_floor"``, ``"partial"``, ``"units_differ"``.
    """

    context: Context
    config: Config
    median_ms: float
    low_ms: float | None = None
    high_ms: float | None = None
    chosen_ms: float | None = None
    default_ms: float | None = None
    default_config: Config | None = None
    tied: tuple[str, ...] = ()
    best_probability: float | None = None
    rounds: int = 0
    candidates: int = 0
    trials: int = 0
    space_size: int = 0
    flags: tuple[str, ...] = ()
    resources: Resources | None = None
    picked_at: str = ""

    @property
    def optimism(self) -> float | None:
        """How much faster it seemed when chosen: ``median / chosen - 1``."""
        if not self.chosen_ms or not self.rounds:
            return None
        return self.median_ms / self.chosen_ms - 1.0


@dataclass(frozen=True, slots=True)
class SpaceSnapshot:
    """A space as it was when a study ran: a store explains itself without the kernel file."""

    parameters: dict[str, tuple[Any, ...]]
    ordered: tuple[str, ...]
    constraints: tuple[str, ...]
    size: int

    def canonical(self) -> "SpaceSnapshot":
        """Return it with tuples where JSON left lists among the values."""
        values = {
            name: tuple(canonical(value, where=f"parameter {name}") for value in choices)
            for name, choices in self.parameters.items()
        }
        return replace(self, parameters=values)


@dataclass(frozen=True, slots=True)
class Work:
    """The least traffic and arithmetic that a problem needs."""

    bytes: float | None = None
    flops: float | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """A worker's first reply: what it drives, under which software, and its ceilings if known.

    Attributes:
        launch_floor_ms: an empty launch.
        copy_gbs: a large copy, read plus written.
        matmul_tflops: a large product, by dtype; float32 is multiplied as tf32.
        measured_at: when they were measured, UTC, ISO 8601; ``""`` for now.
    """

    device: Device
    environment: Environment
    pid: int = 0
    launch_floor_ms: float | None = None
    copy_gbs: float | None = None
    matmul_tflops: dict[str, float] = field(default_factory=dict)
    measured_at: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A question about a problem field, inside a decision rule.

    Attributes:
        field: the problem field that is looked at.
        limit: a number asks ``field <= limit``, a text or a boolean ``field == limit``.
        yes, no: what follows; a number is a leaf and counts in ``DecisionRule.configs``.
    """

    field: str
    limit: Any
    yes: "Branch | int"
    no: "Branch | int"


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """Which of a few configs serves a problem, and what that loses on problems it never saw.

    Attributes:
        kind: ``"single"`` or ``"tree"``.
        configs: the few.
        root: the first question, or the number of the only config.
        problems: how many the rule was made from.
        worst_loss: over these problems, 1 - efficiency.
        held_out: way of choosing -> (worst, mean) loss, each problem judged by a rule made without
            it: ``"single"``, ``"tree"``, ``"nearest"``, and ``"default"`` where it was measured.
        bound: the worst loss that was asked for.
    """

    kind: str
    configs: tuple[Config, ...]
    root: Branch | int
    problems: int
    worst_loss: float
    held_out: Mapping[str, tuple[float, float]]
    bound: float
