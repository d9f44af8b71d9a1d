"""How does Alembic reach the database?

Never by itself: `app.store.schema` opens the connection, takes the lock and hands it over in `config.attributes`.
"""

from alembic import context

from app.store import tables

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
