"""Records to rows: how each value lies in its column.

Whatever library a number comes from, it is a plain int or float here: SQLite would store an
``np.int64`` as a blob that no query finds.
"""

import math
from collections.abc import Iterable
from typing import Any

from autotune_lab import codec
from autotune_lab.definitions import Problem
from autotune_lab.records import (
    DeviceModel,
    Environment,
    KernelIdentity,
    Measurement,
    Numerics,
    Outcome,
    Phase,
    Pick,
    Protocol,
    Resources,
    Trial,
    TrialState,
)
from autotune_lab.samples import pack

Values = dict[str, Any]


def integer(value: Any) -> int | None:
    """Return a plain int, or None."""
    return None if value is None else int(value)


def number(value: Any) -> float | None:
    """Return a plain finite float; None for None and for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)


def clean(text: str) -> str:
    """Return a text that every engine stores: what a dying process printed may hold anything."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


def join(words: Iterable[str]) -> str:
    """Write flags or reasons as one text, in their order."""
    return ",".join(words)


def kernel_values(kernel: KernelIdentity) -> Values:
    """Return the row of a kernel."""
    return {
        "id": kernel.id,
        "name": kernel.name,
        "code_hash": kernel.code_hash,
        "reference_hash": kernel.reference_hash,
        "reference": kernel.reference,
    }


def model_values(model: DeviceModel) -> Values:
    """Return the row of a device model."""
    return {
        "id": model.id,
        "slug": model.slug,
        "name": model.name,
        "architecture": model.architecture,
        "sm_count": int(model.sm_count),
        "partition": model.partition,
        "record": codec.to_json(model),
    }


def environment_values(environment: Environment) -> Values:
    """Return the row of an environment."""
    return {
        "id": environment.id,
        "driver": environment.driver,
        "triton": environment.triton,
        "record": codec.to_json(environment),
    }


def protocol_values(protocol: Protocol) -> Values:
    """Return the row of a protocol."""
    return {"id": protocol.id, "record": codec.to_json(protocol)}


def problem_values(problem: Problem) -> Values:
    """Return the row of a problem; its fields keep their order."""
    record = codec.to_json(problem, sort_keys=False)
    return {"id": problem.id, "label": clean(str(problem)), "record": record}


def outcome_values(outcome: Outcome) -> Values:
    """Return the columns of a trial that its outcome decides; times only where it is ``ok``."""
    timed = outcome.measurement if outcome.state is TrialState.OK else None
    return {
        "state": outcome.state.value,
        "reason": clean(outcome.reason),
        "detail": clean(outcome.detail),
        "raw_time": None if outcome.raw_time is None else clean(outcome.raw_time),
        "launches": int(outcome.launches),
        "elapsed_ms": number(outcome.elapsed_ms),
        **_time_values(timed),
        **_resource_values(outcome.resources),
        **_numeric_values(outcome.numerics),
    }


def trial_values(trial: Trial) -> Values:
    """Return the columns of a finished trial, its measurements aside.

    Its time is that of its first measurement outside a playoff, as in ``Trial.screen_ms``.
    """
    screens = [m for m in trial.measurements if m.phase is not Phase.PLAYOFF]
    timed = screens[0] if screens and trial.state is TrialState.OK else None
    return {
        "context_id": trial.context_id,
        "config_id": trial.config.id,
        "config": trial.config.to_json(),
        "number": int(trial.number),
        "attempt": int(trial.attempt),
        "state": trial.state.value,
        "reason": clean(trial.reason),
        "detail": clean(trial.detail),
        "raw_time": None if trial.raw_time is None else clean(trial.raw_time),
        "launches": int(trial.launches),
        "started_at": trial.started_at,
        "finished_at": trial.finished_at,
        "device_uuid": trial.device_uuid,
        **_time_values(timed),
        **_resource_values(trial.resources),
        **_numeric_values(trial.numerics),
    }


def measurement_values(trial_id: int, measurement: Measurement) -> Values:
    """Return the row of a measurement."""
    telemetry = measurement.telemetry
    return {
        "trial_id": int(trial_id),
        "phase": measurement.phase.value,
        "round": int(measurement.round),
        "median_ms": float(measurement.median_ms),
        "low_ms": number(measurement.low_ms),
        "high_ms": number(measurement.high_ms),
        "samples": len(measurement.samples_ms),
        "raw": pack(measurement.samples_ms),
        "flags": join(measurement.flags),
        "is_eligible": measurement.is_eligible,
        "seed": int(measurement.seed),
        "taken_at": measurement.taken_at,
        "sm_clock_mhz": integer(telemetry.sm_clock_mhz),
        "memory_clock_mhz": integer(telemetry.memory_clock_mhz),
        "power_w": number(telemetry.power_w),
        "temperature_c": integer(telemetry.temperature_c),
        "throttle_reasons": join(telemetry.throttle_reasons),
        "other_processes": int(telemetry.other_processes),
        "device_uuid": measurement.device_uuid,
    }


def pick_values(pick: Pick) -> Values:
    """Return the row of a pick; its context is a key, everything else is also in the evidence."""
    evidence = codec.to_plain(pick)
    del evidence["context"]
    return {
        "context_id": pick.context.id,
        "config_id": pick.config.id,
        "median_ms": float(pick.median_ms),
        "rounds": int(pick.rounds),
        "picked_at": pick.picked_at,
        "evidence": codec.to_json(evidence),
    }


def _time_values(measurement: Measurement | None) -> Values:
    if measurement is None:
        return {
            "time_ms": None,
            "low_ms": None,
            "high_ms": None,
            "samples": 0,
            "flags": "",
            "is_eligible": False,
        }
    return {
        "time_ms": float(measurement.median_ms),
        "low_ms": number(measurement.low_ms),
        "high_ms": number(measurement.high_ms),
        "samples": len(measurement.samples_ms),
        "flags": join(measurement.flags),
        "is_eligible": measurement.is_eligible,
    }


def _resource_values(resources: Resources | None) -> Values:
    found = resources or Resources()
    return {
        "shared_bytes": integer(found.shared_bytes),
        "registers": integer(found.registers),
        "spill_bytes": integer(found.spill_bytes),
        "stack_bytes": integer(found.stack_bytes),
        "threads": integer(found.threads),
        "num_ctas": integer(found.num_ctas),
        "kernel_launches": integer(found.launches),
        "compile_ms": number(found.compile_ms),
    }


def _numeric_values(numerics: Numerics | None) -> Values:
    found = numerics or Numerics()
    return {
        "max_absolute_error": number(found.max_absolute_error),
        "max_relative_error": number(found.max_relative_error),
        "tolerance": number(found.tolerance),
        "output_rms": number(found.output_rms),
    }
