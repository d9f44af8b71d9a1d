"""Runs a command's work on the database with its owner's rights, and names the actor for the audit log."""

from __future__ import annotations

import getpass
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from app.cli import options
from app.database import addresses, transactions
from app.database.embedded import postgres
from app.database.schema import inspection, migration, roles
from app.database.transactions import Database, SharedTransaction, TimeLimits
from app.settings import Settings, plain

Result = TypeVar("Result")
STATEMENT_MS = 3_600_000
"""Statement timeout: deleting a large user takes minutes."""


def run(data_dir: Path | None, work: Callable[[Database], Awaitable[Result]]) -> Result:
    """Runs work as the database's owner and returns its result. Raises BadRequest where the role is not the owner."""

    async def open_and_run() -> Result:
        async with open_owner(options.settings(data_dir)) as database:
            return await work(database)

    return options.run(open_and_run())


def run_once(data_dir: Path | None, work: Callable[[SharedTransaction], Awaitable[Result]]) -> Result:
    """Runs work in one transaction of the database's owner, as `run` does."""

    async def run_in_transaction(database: Database) -> Result:
        async with database.shared() as owner:
            return await work(owner)

    return run(data_dir, run_in_transaction)


@asynccontextmanager
async def open_owner(settings: Settings) -> AsyncIterator[Database]:
    """Opens the database as its owner and checks its revision; the embedded server is started and migrated.

    Raises BadRequest where the role is not the owner, SchemaMismatch, DatabaseUnavailable, EmbeddedServerError.
    """
    async with open_dsn(settings) as dsn:
        limits = TimeLimits(write_ms=STATEMENT_MS)
        async with transactions.connect(dsn, pool_size=1, limits=limits) as owner:
            if _is_embedded(settings) and await migration.revision_of(owner) != migration.head():
                from app import runtime  # which imports the models, whose dimension a new database needs

                await runtime.upgrade(settings, dsn)
            await roles.check_owner(owner)
            await migration.check_revision(owner)
            yield owner


@asynccontextmanager
async def open_dsn(settings: Settings) -> AsyncIterator[str]:
    """Yields the owner's address: STEPWELL_MIGRATION_URL, else DATABASE_URL, else that of the embedded server."""
    if _is_embedded(settings):
        async with postgres.EmbeddedPostgres(settings.folder) as server:
            yield server.owner_dsn
        return
    url = plain(settings.migration_url or settings.database_url) or ""
    variable = "STEPWELL_MIGRATION_URL" if settings.migration_url else "DATABASE_URL"
    addresses.check(url, variable)
    with inspection.naming_server(url, variable):
        yield url


def actor() -> str:
    """Returns the account that runs the command, as `cli:name`."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"cli:{os.getuid()}"


def _is_embedded(settings: Settings) -> bool:
    return settings.database_url is None and settings.migration_url is None
