"""The tables, as typed SQLAlchemy models; nothing outside ``store`` sees them.

Ids of kernels, problems, models, environments, protocols and contexts are digests of their content,
so two stores that hold the same thing call it the same. Times of day are UTC, ISO 8601.
"""

from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Id = String(16)
Moment = String(32)
LIVE = text("state <> 'interrupted'")


class Base(DeclarativeBase):
    """Names every constraint, so that a migration can speak of it on any engine."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {float: Double()}
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class StudyRow(Base):
    """A named piece of tuning work; it may take several runs."""

    __tablename__ = "studies"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[str] = mapped_column(Moment)


class RunRow(Base):
    """One invocation of a study, and the process that owns its running trials.

    ``uid`` names it in every store that it is merged into; ``origin`` is the store that it came
    from, ``""`` where it was begun on this one.
    """

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    plan: Mapped[str] = mapped_column(Text)
    lab_version: Mapped[str] = mapped_column(Text)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int]
    process_start: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16))
    started_at: Mapped[str] = mapped_column(Moment)
    heartbeat_at: Mapped[str] = mapped_column(Moment)
    ended_at: Mapped[str] = mapped_column(Moment, server_default="")
    uid: Mapped[str] = mapped_column(String(32), server_default="", index=True)
    origin: Mapped[str] = mapped_column(Text, server_default="")


class KernelRow(Base):
    """One version of a kernel's code and of its judge."""

    __tablename__ = "kernels"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    name: Mapped[str] = mapped_column(Text, index=True)
    code_hash: Mapped[str] = mapped_column(Text)
    reference_hash: Mapped[str] = mapped_column(Text)
    reference: Mapped[str] = mapped_column(Text)


class DeviceModelRow(Base):
    """What configs are tuned for; ``record`` holds all fields, columns those that are queried."""

    __tablename__ = "device_models"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    slug: Mapped[str] = mapped_column(Text, index=True)
    name: Mapped[str] = mapped_column(Text)
    architecture: Mapped[str] = mapped_column(Text)
    sm_count: Mapped[int]
    partition: Mapped[str] = mapped_column(Text)
    record: Mapped[str] = mapped_column(Text)


class DeviceRow(Base):
    """A physical device; a part of it is another model under the same UUID."""

    __tablename__ = "devices"

    uuid: Mapped[str] = mapped_column(Text, primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("device_models.id"), primary_key=True)
    first_seen_at: Mapped[str] = mapped_column(Moment)


class EnvironmentRow(Base):
    """The software that times were measured under."""

    __tablename__ = "environments"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    driver: Mapped[str] = mapped_column(Text)
    triton: Mapped[str] = mapped_column(Text)
    record: Mapped[str] = mapped_column(Text)


class CeilingsRow(Base):
    """What a device reached at best under some software, each time that it was measured."""

    __tablename__ = "ceilings"

    device_uuid: Mapped[str] = mapped_column(Text, primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("device_models.id"), primary_key=True)
    environment_id: Mapped[str] = mapped_column(ForeignKey("environments.id"), primary_key=True)
    measured_at: Mapped[str] = mapped_column(Moment, primary_key=True)
    source: Mapped[str] = mapped_column(String(16))
    launch_floor_ms: Mapped[float | None]
    copy_gbs: Mapped[float | None]
    matmul_tflops: Mapped[str] = mapped_column(Text, server_default="{}")


class ProtocolRow(Base):
    """What a time means."""

    __tablename__ = "protocols"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    record: Mapped[str] = mapped_column(Text)


class ProblemRow(Base):
    """A shape, dtype and layout; ``record`` keeps the fields in their declared order."""

    __tablename__ = "problems"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    label: Mapped[str] = mapped_column(Text)
    record: Mapped[str] = mapped_column(Text)


class ContextRow(Base):
    """Everything that must be equal for two times to be compared, and what was learnt about it."""

    __tablename__ = "contexts"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    kernel_id: Mapped[str] = mapped_column(ForeignKey("kernels.id"), index=True)
    problem_id: Mapped[str] = mapped_column(ForeignKey("problems.id"))
    model_id: Mapped[str] = mapped_column(ForeignKey("device_models.id"), index=True)
    environment_id: Mapped[str] = mapped_column(ForeignKey("environments.id"))
    protocol_id: Mapped[str] = mapped_column(ForeignKey("protocols.id"))
    source: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[str] = mapped_column(Moment)
    opened_at: Mapped[str] = mapped_column(Moment)
    space: Mapped[str] = mapped_column(Text)
    work_bytes: Mapped[float | None]
    work_flops: Mapped[float | None]
    launch_floor_ms: Mapped[float | None]
    copy_gbs: Mapped[float | None]
    matmul_tflops: Mapped[str] = mapped_column(Text, server_default="{}")


class TrialRow(Base):
    """One config in one context; ``time_ms`` is its screening median, NULL unless it is ok."""

    __tablename__ = "trials"
    __table_args__ = (
        Index("uq_trials_live", "context_id", "config_id", unique=True, sqlite_where=LIVE,
              postgresql_where=LIVE),
        Index("ix_trials_attempts", "context_id", "config_id"),
        Index("ix_trials_fastest", "context_id", "time_ms"),
        Index("ix_trials_time", "time_ms", sqlite_where=text("time_ms IS NOT NULL"),
              postgresql_where=text("time_ms IS NOT NULL")),
        Index("ix_trials_running", "run_id", sqlite_where=text("state = 'running'"),
              postgresql_where=text("state = 'running'")),
        CheckConstraint(
            "time_ms IS NULL OR (state = 'ok' AND time_ms > 0 AND time_ms <= 1e12)",
            name="time_is_a_time",
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"))
    context_id: Mapped[str] = mapped_column(ForeignKey("contexts.id"))
    config_id: Mapped[str] = mapped_column(Id)
    config: Mapped[str] = mapped_column(Text)
    number: Mapped[int]
    attempt: Mapped[int]
    state: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(Text, server_default="")
    detail: Mapped[str] = mapped_column(Text, server_default="")
    raw_time: Mapped[str | None] = mapped_column(Text)
    time_ms: Mapped[float | None]
    low_ms: Mapped[float | None]
    high_ms: Mapped[float | None]
    samples: Mapped[int] = mapped_column(server_default="0")
    flags: Mapped[str] = mapped_column(Text, server_default="")
    is_eligible: Mapped[bool] = mapped_column(server_default=text("false"))
    launches: Mapped[int] = mapped_column(server_default="0")
    elapsed_ms: Mapped[float | None]
    started_at: Mapped[str] = mapped_column(Moment)
    finished_at: Mapped[str] = mapped_column(Moment, server_default="")
    device_uuid: Mapped[str] = mapped_column(Text, server_default="")
    shared_bytes: Mapped[int | None]
    registers: Mapped[int | None]
    spill_bytes: Mapped[int | None]
    stack_bytes: Mapped[int | None]
    threads: Mapped[int | None]
    num_ctas: Mapped[int | None]
    kernel_launches: Mapped[int | None]
    compile_ms: Mapped[float | None]
    max_absolute_error: Mapped[float | None]
    max_relative_error: Mapped[float | None]
    tolerance: Mapped[float | None]
    output_rms: Mapped[float | None]


class MeasurementRow(Base):
    """One measurement of a trial; ``raw`` is what ``samples.pack`` made of its samples.

    ``device_uuid`` is ``""`` where it was taken on the trial's own device.
    """

    __tablename__ = "measurements"
    __table_args__ = (
        CheckConstraint("median_ms > 0 AND median_ms <= 1e12", name="median_is_a_time"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id"), index=True)
    phase: Mapped[str] = mapped_column(String(16))
    round: Mapped[int]
    median_ms: Mapped[float]
    low_ms: Mapped[float | None]
    high_ms: Mapped[float | None]
    samples: Mapped[int]
    raw: Mapped[bytes] = mapped_column(LargeBinary)
    flags: Mapped[str] = mapped_column(Text)
    is_eligible: Mapped[bool]
    seed: Mapped[int] = mapped_column(BigInteger)
    taken_at: Mapped[str] = mapped_column(Moment)
    sm_clock_mhz: Mapped[int | None]
    memory_clock_mhz: Mapped[int | None]
    power_w: Mapped[float | None]
    temperature_c: Mapped[int | None]
    throttle_reasons: Mapped[str] = mapped_column(Text)
    other_processes: Mapped[int]
    device_uuid: Mapped[str] = mapped_column(Text, server_default="")


class PickRow(Base):
    """A winner as it was chosen; rows are only ever added, the last one of a context counts."""

    __tablename__ = "picks"
    __table_args__ = (
        CheckConstraint("median_ms > 0 AND median_ms <= 1e12", name="median_is_a_time"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    context_id: Mapped[str] = mapped_column(ForeignKey("contexts.id"), index=True)
    config_id: Mapped[str] = mapped_column(Id)
    median_ms: Mapped[float]
    rounds: Mapped[int]
    picked_at: Mapped[str] = mapped_column(Moment)
    evidence: Mapped[str] = mapped_column(Text)
