"""Writes backups of a database and restores them, after checking that the file and the database fit each other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app import errors
from app.database import transactions
from app.database.schema import health, migration, revisions
from app.database.transactions import Database
from app.maintenance.store import backups
from app.maintenance.store.backups import Access, Archive


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore loaded. `role_created`: the service's role was missing and has no password yet.

    `stems_differ`: the server has another major version than the one that wrote the backup, so its stemmers may differ.
    """

    archive: Archive
    role_created: bool
    stems_differ: bool


async def create(file: Path, *, access: Access, replace: bool = False) -> Archive:
    """Write a backup of a whole database to `file`, while a service may read and write.

    Raises BadRequest, before anything is dumped, if `file` cannot be written, or exists and may not be replaced;
    SchemaMismatch if there is nothing to back up or the role is not the owner; BackupFailed; DatabaseUnavailable. The
    file is then as it was before.
    """
    backups.check_target(file, replace=replace)
    async with _opened(access) as owner:
        server = await health.server(owner)
    if not server.migrated:
        raise errors.SchemaMismatch("The database has no Stepwell schema: there is nothing to back up.")
    if not server.owns:
        raise errors.SchemaMismatch(
            f"{server.role} does not own the tables: set STEPWELL_MIGRATION_URL to the owner's address."
        )
    return await backups.dump(access, file, server_major=server.version_num // 10_000)


async def restore(file: Path, *, access: Access, embedding: tuple[str, int], replace: bool = False) -> Restored:
    """Load a backup into a database that is empty, or whose data may be replaced; all of it or nothing.

    `embedding` is the configured model and dimension. The caller upgrades the schema afterwards. Raises BadRequest
    where there is no file or it is no backup, SchemaMismatch where this version cannot use it, Conflict where the
    database is not empty or in use, BackupFailed, DatabaseUnavailable.
    """
    backups.check_source(file)
    async with _opened(access) as owner:
        target = await backups.target(owner)
        archive = await backups.describe(file, access.environment)
        _refuse_unusable(archive, embedding)
        _refuse_occupied(target, replace=replace)
        role_created = await backups.create_service_role(owner)
    if not target.migrated:
        # Creates what a backup does not hold: the extension, and what migrations change outside the schema.
        await migration.upgrade(access.dsn, model=embedding[0], dimension=embedding[1])
    await backups.load(access, file)
    return Restored(archive, role_created, archive.server_major not in (None, target.server_major))


def _refuse_unusable(archive: Archive, embedding: tuple[str, int]) -> None:
    if revisions.is_earlier(archive.revision):
        raise errors.SchemaMismatch(
            f"The backup is at revision {archive.revision}, this version restores from {revisions.BASELINE} on: "
            f"restore it with commit {revisions.LAST_FOR_EARLIER}, and upgrade the database with this version."
        )
    if not revisions.is_known(archive.revision):
        raise errors.SchemaMismatch(
            f"The backup is at revision {archive.revision}, which this version does not support (its newest is "
            f"{revisions.head()}): restore it with the version of Stepwell that wrote it, or a newer one."
        )
    found = (archive.model, archive.dimension)
    if archive.model is not None and found != embedding:
        raise errors.SchemaMismatch(
            f"The backup contains vectors of {found[0]} ({found[1]} dimensions), the settings require {embedding[0]} "
            f"({embedding[1]}): set STEPWELL_EMBEDDER to the model of the backup."
        )


def _refuse_occupied(target: backups.RestoreTarget, *, replace: bool) -> None:
    if target.sessions:
        raise errors.Conflict(f"The service has {target.sessions} connections to this database: stop it, then restore.")
    if not (target.is_empty or replace):
        raise errors.Conflict(
            f"The database is not empty: it contains {target.users} users and {target.keys} API keys. "
            "Restore into an empty database, or add --replace to delete its data."
        )


@asynccontextmanager
async def _opened(access: Access) -> AsyncIterator[Database]:
    database = transactions.connect(access.dsn, pool_size=1)
    try:
        yield database
    finally:
        await database.close()
