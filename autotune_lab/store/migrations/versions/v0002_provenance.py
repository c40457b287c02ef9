"""Names runs across stores, so that merging knows what it has seen; finds the fastest by index."""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and give every run that is there a name of its own."""
    op.add_column("runs", sa.Column("uid", sa.String(32), nullable=False, server_default=""))
    op.add_column("runs", sa.Column("origin", sa.Text(), nullable=False, server_default=""))
    runs = sa.table("runs", sa.column("id", sa.Integer), sa.column("uid", sa.String))
    connection = op.get_bind()
    for run_id in connection.execute(sa.select(runs.c.id)).scalars().all():
        named = sa.update(runs).where(runs.c.id == run_id).values(uid=uuid.uuid4().hex)
        connection.execute(named)
    op.create_index("ix_runs_uid", "runs", ["uid"])
    op.create_index("ix_trials_fastest", "trials", ["context_id", "time_ms"])
