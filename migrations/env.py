"""Configures Alembic on the connection of `app.database.schema.migration`, or on one of its own for `alembic …`.

The service and `stepwell db upgrade` pass a connection in `config.attributes`. Called as `alembic` in a checkout, a
connection to the owner's address is opened as `stepwell db upgrade` opens it, and an upgrade takes the same steps: the
lock, the extension, the revisions, the privileges of the roles, and the extraction of mentions by new rules.
"""

import asyncio

from alembic import context
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy.engine import Connection

from app import capability_registry
from app.database.schema import migration, tables

capability_registry.register()


def run_on(connection: Connection) -> None:
    """Run the command on an open connection."""
    configure(connection)
    with context.begin_transaction():
        context.run_migrations()


def configure(connection: Connection) -> None:
    """Configure Alembic for an open connection."""
    context.configure(
        connection=connection,
        target_metadata=tables.complete(),
        include_schemas=True,
        include_name=lambda name, kind, _parents: kind != "schema" or name == tables.SCHEMA,
        version_table_schema=tables.SCHEMA,
        compare_type=True,
        transaction_per_migration=False,
        on_version_apply=context.config.attributes.get("on_version_apply"),
    )


async def run_as_owner() -> None:
    """Run the command of the command line on a connection of the database's owner."""
    from app import runtime
    from app import settings as config  # only in a checkout: the service, which is above this file, passes a connection
    from app.cli import database_as_owner
    from app.runtime import configured_models

    settings = config.load()
    model, dimension = configured_models.embedding(settings)

    def upgrade(connection: Connection) -> str:
        def migrate(config: Config) -> None:
            for name in ("model", "dimension"):  # which the revisions read
                context.config.attributes[name] = config.attributes[name]
            run_on(connection)

        return migration.upgrade_by(connection, migrate, model=model, dimension=dimension)

    def run(connection: Connection) -> str:
        configure(connection)
        if context.get_context().opts["fn"].__name__ == "upgrade":
            return upgrade(connection)
        run_on(connection)
        return ""

    async with database_as_owner.open_dsn(settings) as dsn:
        if await migration.on_connection(dsn, run) == migration.head():
            await runtime.finish_upgrade(dsn)


if context.is_offline_mode():
    raise CommandError("Some revisions read the database, so there is no SQL script of them: run without --sql.")
if "connection" in context.config.attributes:
    run_on(context.config.attributes["connection"])
else:
    asyncio.run(run_as_owner())
