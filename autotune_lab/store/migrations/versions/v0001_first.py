"""The first schema: studies, runs, contexts and what they are made of, trials, picks."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MOMENT = sa.String(32)
ID = sa.String(16)


def upgrade() -> None:
    """Create every table, those that others point to first."""
    _create_context_parts()
    _create_studies()
    _create_contexts()
    _create_trials()
    _create_measurements()
    _create_picks()


def _need(name: str, kind: Any, *rest: Any, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, *rest, nullable=False, **options)


def _may(name: str, kind: Any, *rest: Any) -> sa.Column[Any]:
    return sa.Column(name, kind(), *rest, nullable=True)


def _key(kind: Any) -> sa.Column[Any]:
    return sa.Column("id", kind, primary_key=True)


def _create_context_parts() -> None:
    op.create_table(
        "kernels",
        _key(ID),
        _need("name", sa.Text(), index=True),
        _need("code_hash", sa.Text()),
        _need("reference_hash", sa.Text()),
        _need("reference", sa.Text()),
    )
    op.create_table(
        "device_models",
        _key(ID),
        _need("slug", sa.Text(), index=True),
        _need("name", sa.Text()),
        _need("architecture", sa.Text()),
        _need("sm_count", sa.Integer()),
        _need("partition", sa.Text()),
        _need("record", sa.Text()),
    )
    op.create_table(
        "devices",
        sa.Column("uuid", sa.Text(), primary_key=True),
        sa.Column("model_id", ID, sa.ForeignKey("device_models.id"), primary_key=True),
        _need("first_seen_at", MOMENT),
    )
    op.create_table(
        "environments",
        _key(ID),
        _need("driver", sa.Text()),
        _need("triton", sa.Text()),
        _need("record", sa.Text()),
    )
    op.create_table("protocols", _key(ID), _need("record", sa.Text()))
    op.create_table("problems", _key(ID), _need("label", sa.Text()), _need("record", sa.Text()))


def _create_studies() -> None:
    op.create_table(
        "studies",
        _key(sa.Integer()),
        _need("name", sa.Text(), unique=True),
        _need("created_at", MOMENT),
    )
    op.create_table(
        "runs",
        _key(sa.Integer()),
        _need("study_id", sa.Integer(), sa.ForeignKey("studies.id"), index=True),
        _need("plan", sa.Text()),
        _need("lab_version", sa.Text()),
        _need("host", sa.Text()),
        _need("pid", sa.Integer()),
        _need("process_start", sa.Text()),
        _need("state", sa.String(16)),
        _need("started_at", MOMENT),
        _need("heartbeat_at", MOMENT),
        _need("ended_at", MOMENT, server_default=""),
    )


def _create_contexts() -> None:
    op.create_table(
        "contexts",
        _key(ID),
        _need("kernel_id", ID, sa.ForeignKey("kernels.id"), index=True),
        _need("problem_id", ID, sa.ForeignKey("problems.id")),
        _need("model_id", ID, sa.ForeignKey("device_models.id"), index=True),
        _need("environment_id", ID, sa.ForeignKey("environments.id")),
        _need("protocol_id", ID, sa.ForeignKey("protocols.id")),
        _need("source", sa.String(16)),
        _need("created_at", MOMENT),
        _need("opened_at", MOMENT),
        _need("space", sa.Text()),
        _may("work_bytes", sa.Double),
        _may("work_flops", sa.Double),
        _may("launch_floor_ms", sa.Double),
        _may("copy_gbs", sa.Double),
        _need("matmul_tflops", sa.Text(), server_default="{}"),
    )


def _create_trials() -> None:
    op.create_table(
        "trials",
        _key(sa.Integer()),
        _may("run_id", sa.Integer, sa.ForeignKey("runs.id")),
        _need("context_id", ID, sa.ForeignKey("contexts.id")),
        _need("config_id", ID),
        _need("config", sa.Text()),
        _need("number", sa.Integer()),
        _need("attempt", sa.Integer()),
        _need("state", sa.String(20)),
        _need("reason", sa.Text(), server_default=""),
        _need("detail", sa.Text(), server_default=""),
        _may("raw_time", sa.Text),
        _may("time_ms", sa.Double),
        _may("low_ms", sa.Double),
        _may("high_ms", sa.Double),
        _need("samples", sa.Integer(), server_default="0"),
        _need("flags", sa.Text(), server_default=""),
        _need("is_eligible", sa.Boolean(), server_default=sa.text("false")),
        _need("launches", sa.Integer(), server_default="0"),
        _may("elapsed_ms", sa.Double),
        _need("started_at", MOMENT),
        _need("finished_at", MOMENT, server_default=""),
        _need("device_uuid", sa.Text(), server_default=""),
        _may("shared_bytes", sa.Integer),
        _may("registers", sa.Integer),
        _may("spill_bytes", sa.Integer),
        _may("stack_bytes", sa.Integer),
        _may("threads", sa.Integer),
        _may("num_ctas", sa.Integer),
        _may("kernel_launches", sa.Integer),
        _may("compile_ms", sa.Double),
        _may("max_absolute_error", sa.Double),
        _may("max_relative_error", sa.Double),
        _may("tolerance", sa.Double),
        _may("output_rms", sa.Double),
        sa.CheckConstraint(
            "time_ms IS NULL OR (state = 'ok' AND time_ms > 0 AND time_ms <= 1e12)",
            name="time_is_a_time",
        ),
    )
    for name, columns, condition, unique in (
        ("ix_trials_attempts", ["context_id", "config_id"], None, False),
        ("ix_trials_running", ["run_id"], sa.text("state = 'running'"), False),
        ("uq_trials_live", ["context_id", "config_id"], sa.text("state <> 'interrupted'"), True),
    ):
        op.create_index(
            name,
            "trials",
            columns,
            unique=unique,
            sqlite_where=condition,
            postgresql_where=condition,
        )


def _create_measurements() -> None:
    op.create_table(
        "measurements",
        _key(sa.Integer()),
        _need("trial_id", sa.Integer(), sa.ForeignKey("trials.id"), index=True),
        _need("phase", sa.String(16)),
        _need("round", sa.Integer()),
        _need("median_ms", sa.Double()),
        _may("low_ms", sa.Double),
        _may("high_ms", sa.Double),
        _need("samples", sa.Integer()),
        _need("raw", sa.LargeBinary()),
        _need("flags", sa.Text()),
        _need("is_eligible", sa.Boolean()),
        _need("seed", sa.BigInteger()),
        _need("taken_at", MOMENT),
        _may("sm_clock_mhz", sa.Integer),
        _may("memory_clock_mhz", sa.Integer),
        _may("power_w", sa.Double),
        _may("temperature_c", sa.Integer),
        _need("throttle_reasons", sa.Text()),
        _need("other_processes", sa.Integer()),
        sa.CheckConstraint("median_ms > 0 AND median_ms <= 1e12", name="median_is_a_time"),
    )


def _create_picks() -> None:
    op.create_table(
        "picks",
        _key(sa.Integer()),
        _need("context_id", ID, sa.ForeignKey("contexts.id"), index=True),
        _need("config_id", ID),
        _need("median_ms", sa.Double()),
        _need("rounds", sa.Integer()),
        _need("picked_at", MOMENT),
        _need("evidence", sa.Text()),
        sa.CheckConstraint("median_ms > 0 AND median_ms <= 1e12", name="median_is_a_time"),
    )
