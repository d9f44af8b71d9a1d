"""Configures Alembic to run the migrations on a connection that `app.store.maintenance.migration` opened.

Alembic opens no connection itself: `app.store.maintenance.migration` opens one, takes the lock and passes it in
`config.attributes`.
"""

from alembic import context

from app.store.schema import tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.metadata,
    include_schemas=True,
    include_name=lambda name, kind, _parents: kind != "schema" or name == tables.SCHEMA,
    version_table_schema=tables.SCHEMA,
    compare_type=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
