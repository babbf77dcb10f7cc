"""Run by Alembic: migrate over the connection that ``curator.datastore.migrate`` hands in."""

from alembic import context

from privet.curator.datastore.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
