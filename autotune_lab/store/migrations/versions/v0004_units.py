"""Says on which device of a model each measurement was taken; finds the fastest of all by index."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TIMED = sa.text("time_ms IS NOT NULL")


def upgrade() -> None:
    """Add the column, empty for what was measured where its trial ran, and the index."""
    op.add_column(
        "measurements", sa.Column("device_uuid", sa.Text(), nullable=False, server_default="")
    )
    op.create_index(
        "ix_trials_time", "trials", ["time_ms"], sqlite_where=_TIMED, postgresql_where=_TIMED
    )
