"""Implements `stepwell db`: upgrades, distributes and checks the database schema."""

from __future__ import annotations

import logging
import time
from typing import Annotated

import typer

from app import errors, runtime
from app.cli import database_as_owner, options, terminal
from app.database.schema import migration, roles
from app.database.schema.citus import Distribution
from app.maintenance import reindex as pipeline
from app.settings import Settings, plain

app = typer.Typer(help="The database: upgrade, distribute, check.", no_args_is_help=True)


@app.command()
def upgrade(
    data_dir: options.DataDir = None,
    set_service_password: Annotated[
        bool, typer.Option("--set-service-password", help="Give stepwell_service the password in DATABASE_URL.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Upgrade the database to this version's schema, as the owner (STEPWELL_MIGRATION_URL)."""
    settings = options.settings(data_dir)
    began = time.monotonic()
    revision = options.run(_upgrade(settings, set_service_password=set_service_password))
    seconds = round(time.monotonic() - began, 1)
    terminal.end_with_json({"revision": revision, "seconds": seconds}, wanted=as_json)
    terminal.out.print(f"The database is at revision {revision}.")


@app.command()
def distribute(
    shards: Annotated[
        int | None,
        typer.Option("--shards", help="Number of shards, when first distributed (Citus' default: 32).", min=1),
    ] = None,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Distribute the tables of users over a Citus cluster, as the owner (STEPWELL_MIGRATION_URL, the coordinator).

    Stored rows are moved. The command may be repeated; `stepwell db upgrade` distributes tables that are added later.
    """
    found, unmarked = options.run(_distribute(options.settings(data_dir), shards))
    counts = {"distributed": list(found.added), "shards": found.shards, "nodes": found.nodes}
    terminal.end_with_json({**counts, "not_leakproof": unmarked}, wanted=as_json)
    done = f"{len(found.added)} tables were distributed" if found.added else "All tables were distributed already"
    terminal.out.print(f"{done}: {found.shards} shards on {found.nodes} nodes.")
    for problem in unmarked:
        terminal.err.print(f"Not marked as leakproof: {problem}", soft_wrap=True)


@app.command()
def check(as_json: options.AsJson = False, data_dir: options.DataDir = None) -> None:
    """Check that the database has this version's schema; report the first difference otherwise."""
    options.run(_check(options.settings(data_dir)))
    terminal.end_with_json({"up_to_date": True}, wanted=as_json)
    terminal.out.print("The database has the schema of this version.")


async def _upgrade(settings: Settings, *, set_service_password: bool) -> str:
    async with database_as_owner.open_dsn(settings) as dsn:
        revision = await migrate(settings, dsn, report=_print_step)
        if set_service_password:
            service_dsn = plain(settings.database_url) or dsn
            await roles.set_password(dsn, service_dsn=service_dsn)
        return revision


async def migrate(settings: Settings, dsn: str, *, report: migration.Report | None = None) -> str:
    """Upgrade as `runtime.migrate` does, and show the warnings that ask for a reindex or for a superuser."""
    for module in (pipeline, roles):
        logging.getLogger(module.__name__).setLevel(logging.WARNING)
    return await runtime.migrate(settings, dsn, report=report)


def _print_step(step: object) -> None:
    terminal.err.print(str(step), markup=False, soft_wrap=True)


async def _distribute(settings: Settings, shards: int | None) -> tuple[Distribution, list[str]]:
    if settings.database_url is None and settings.migration_url is None:
        raise errors.BadRequest(
            "The embedded server has one node: set the owner's address of a Citus coordinator.",
            field="STEPWELL_MIGRATION_URL",
        )
    async with database_as_owner.open_dsn(settings) as dsn:
        return await migration.distribute(dsn, shards=shards)


async def _check(settings: Settings) -> None:
    async with runtime.open_database(settings, pool_size=1) as database:
        await runtime.check_database(database, settings)
        await migration.check_nodes(database)
