"""Run by Alembic: applies migrations on the connection and in the transaction that it was given."""

from alembic import context

from autotune_lab.store.schema import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite can't alter most things in place; batch mode copies the table and swaps it in.
    render_as_batch=True,
)
context.run_migrations()
