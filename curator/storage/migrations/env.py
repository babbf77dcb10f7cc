"""Run by Alembic: migrate over the connection that ``curator.storage.migrate`` hands in."""

from alembic import context

from curator.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
