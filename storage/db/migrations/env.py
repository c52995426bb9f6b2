"""Alembic's entry point. It works on the connection that `storage.db.connections.upgrade` passes."""

from alembic import context

from storage.db.tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
