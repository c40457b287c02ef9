"""Keeps what a device reaches at best, so that it is not measured at every start."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; what contexts hold stays with them."""
    op.create_table(
        "ceilings",
        sa.Column("device_uuid", sa.Text(), primary_key=True),
        sa.Column("model_id", sa.String(16), sa.ForeignKey("device_models.id"), primary_key=True),
        sa.Column(
            "environment_id", sa.String(16), sa.ForeignKey("environments.id"), primary_key=True
        ),
        sa.Column("measured_at", sa.String(32), primary_key=True),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("launch_floor_ms", sa.Double(), nullable=True),
        sa.Column("copy_gbs", sa.Double(), nullable=True),
        sa.Column("matmul_tflops", sa.Text(), nullable=False, server_default="{}"),
    )
