"""Rows to records; a cell that does not hold what it should is damage, and is named."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import RowMapping

from autotune_lab import codec
from autotune_lab.definitions import Problem
from autotune_lab.errors import StoreDamaged
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Measurement,
    Numerics,
    Phase,
    Pick,
    Protocol,
    Resources,
    Source,
    SpaceSnapshot,
    Telemetry,
    Trial,
    TrialState,
)
from autotune_lab.samples import unpack
from autotune_lab.spaces.config import Config


@contextmanager
def named_damage(what: str) -> Iterator[None]:
    """Say of what a cell is when it can't be read.

    Raises:
        StoreDamaged: reading it failed.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        raise StoreDamaged(f"{what}: can't be read: {error}") from error


def split(text: str) -> tuple[str, ...]:
    """Read what ``join`` wrote."""
    return tuple(text.split(",")) if text else ()


def context_of(row: RowMapping) -> Context:
    """Rebuild a context from a row of ``selecting.select_contexts``."""
    with named_damage(f"context {row['context_id']}"):
        return Context(
            kernel=KernelIdentity(
                name=row["kernel"],
                code_hash=row["code_hash"],
                reference_hash=row["reference_hash"],
                reference=row["reference"],
            ),
            problem=codec.from_json(Problem, row["problem_record"]),
            model=codec.from_json(DeviceModel, row["model_record"]),
            environment=codec.from_json(Environment, row["environment_record"]),
            protocol=codec.from_json(Protocol, row["protocol_record"]),
            source=Source(row["source"]),
        )


def space_of(row: RowMapping) -> SpaceSnapshot:
    """Rebuild a context's space."""
    with named_damage(f"space of context {row['context_id']}"):
        return codec.from_json(SpaceSnapshot, row["space"]).canonical()


def matmul_tflops_of(row: RowMapping) -> dict[str, float]:
    """Rebuild a context's matrix rates by dtype."""
    with named_damage(f"ceilings of context {row['context_id']}"):
        rates = codec.parse(row["matmul_tflops"], "matmul_tflops")
        return {str(dtype): float(rate) for dtype, rate in dict(rates).items()}


def config_of(text: str) -> Config:
    """Rebuild a config."""
    with named_damage(f"config {text[:80]!r}"):
        return Config.from_plain(json.loads(text))


def trial_of(row: RowMapping, measurements: Iterable[Measurement]) -> Trial:
    """Rebuild a trial with its measurements."""
    with named_damage(f"trial {row['id']}"):
        return Trial(
            context_id=row["context_id"],
            config=config_of(row["config"]),
            state=TrialState(row["state"]),
            number=row["number"],
            attempt=row["attempt"],
            reason=row["reason"],
            detail=row["detail"],
            raw_time=row["raw_time"],
            launches=row["launches"],
            resources=_resources_of(row),
            numerics=_numerics_of(row),
            measurements=tuple(measurements),
            started_at=row["started_at"],
            finished_at=row["finished_at"],
            device_uuid=row["device_uuid"],
            id=row["id"],
        )


def measurement_of(row: RowMapping) -> Measurement:
    """Rebuild a measurement with its samples."""
    with named_damage(f"measurement of trial {row['trial_id']}"):
        return Measurement(
            phase=Phase(row["phase"]),
            samples_ms=unpack(row["raw"]),
            median_ms=row["median_ms"],
            low_ms=row["low_ms"],
            high_ms=row["high_ms"],
            round=row["round"],
            flags=split(row["flags"]),
            seed=row["seed"],
            taken_at=row["taken_at"],
            telemetry=Telemetry(
                sm_clock_mhz=row["sm_clock_mhz"],
                memory_clock_mhz=row["memory_clock_mhz"],
                power_w=row["power_w"],
                temperature_c=row["temperature_c"],
                throttle_reasons=split(row["throttle_reasons"]),
                other_processes=row["other_processes"],
            ),
            device_uuid=row["device_uuid"],
        )


def pick_of(evidence: str, context: Context) -> Pick:
    """Rebuild a pick."""
    with named_damage(f"pick in context {context.id}"):
        plain = codec.parse(evidence, "evidence")
        return codec.from_plain(Pick, {**plain, "context": codec.to_plain(context)})


def _resources_of(row: RowMapping) -> Resources | None:
    resources = Resources(
        shared_bytes=row["shared_bytes"],
        registers=row["registers"],
        spill_bytes=row["spill_bytes"],
        stack_bytes=row["stack_bytes"],
        threads=row["threads"],
        num_ctas=row["num_ctas"],
        launches=row["kernel_launches"],
        compile_ms=row["compile_ms"],
    )
    return None if resources == Resources() else resources


def _numerics_of(row: RowMapping) -> Numerics | None:
    numerics = Numerics(
        max_absolute_error=row["max_absolute_error"],
        max_relative_error=row["max_relative_error"],
        tolerance=row["tolerance"],
        output_rms=row["output_rms"],
    )
    return None if numerics == Numerics() else numerics
