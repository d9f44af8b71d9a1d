"""Implements `stepwell backup` and `stepwell restore`: the whole database as one file.

Both check that the file and the database fit each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from app import errors
from app import settings as config
from app.cli import database_as_owner, options, terminal
from app.database import transactions
from app.database.schema import inspection, migration
from app.database.schema.inspection import ServerFacts
from app.maintenance.store import backups
from app.maintenance.store.backups import Access, Archive
from app.settings import Settings

HELP = "The backup file, in the custom format of pg_dump."


def backup(
    file: Annotated[Path, typer.Argument(help=HELP, dir_okay=False)],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a file that exists; without it, the name must be free.")
    ] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write a backup of the whole database to FILE (mode 0600); the service may run. A failed backup leaves no file."""
    backups.check_free(file, replace=replace)
    archive = options.run(_backup(options.settings(data_dir), file.absolute(), replace=replace))
    terminal.end_with_json({"file": str(file), **_as_json(archive)}, wanted=as_json)
    terminal.out.print(f"Wrote {file}: {_show(archive)}.", soft_wrap=True, markup=False)


def restore(
    file: Annotated[Path, typer.Argument(help=HELP, exists=True, dir_okay=False)],
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the contents of the database; without it, the database must be empty."),
    ] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Load the backup FILE in one transaction and bring it to this version's schema; stop the service first."""
    settings = options.settings(data_dir)
    restored, revision = options.run(_restore(settings, file, replace=replace))
    rebuilt = 0
    if restored.stems_differ:
        from app.maintenance.commands import repair  # which imports the models

        damage, _waiting = options.run(repair.compare(settings, [], dry_run=False))
        rebuilt = sum(map(bool, damage.values()))
    needs_password = restored.role_created and settings.database_url is not None
    done = {"file": str(file), **_as_json(restored.archive), "now_at": revision}
    done |= {"service_needs_password": needs_password, "users_repaired": rebuilt}
    terminal.end_with_json(done, wanted=as_json)
    shown = f"Restored {file}: {_show(restored.archive)}; now at revision {revision}."
    terminal.out.print(shown, soft_wrap=True, markup=False)
    if restored.stems_differ:
        major = restored.archive.server_major
        users = terminal.format_count(rebuilt, "user")
        terminal.out.print(f"Postgres {major} wrote it and may have other stems: rows of {users} were rebuilt.")
    if needs_password:
        terminal.out.print("stepwell_service has no password yet: run `stepwell db upgrade --set-service-password`.")


async def _backup(settings: Settings, file: Path, *, replace: bool) -> Archive:
    async with database_as_owner.open_dsn(settings) as dsn:
        return await create(file, access=Access(dsn, config.environment()), replace=replace)


async def _restore(settings: Settings, file: Path, *, replace: bool) -> tuple[Restored, str]:
    from app.maintenance.commands import (
        database_schema,  # which imports the models, whose dimension the backup must have
    )
    from app.runtime import configured_models

    async with database_as_owner.open_dsn(settings) as dsn:
        access = Access(dsn, config.environment())
        restored = await load(file, access=access, embedding=configured_models.embedding(settings), replace=replace)
        revision = await database_schema.migrate(settings, dsn)
        await backups.vacuum(dsn)
        return restored, revision


def _as_json(archive: Archive) -> dict[str, object]:
    return {"bytes": archive.bytes, "revision": archive.revision, "model": archive.model}


def _show(archive: Archive) -> str:
    model = f", vectors of {archive.model}" if archive.model else ""
    return f"{archive.bytes / 1e6:.1f} MB, revision {archive.revision}{model}"


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

    Raises BadRequest, before anything is dumped, if `file` cannot be written; SchemaMismatch if there is nothing to
    back up or the role is not the owner; BackupFailed; DatabaseUnavailable. The file is then as it was before.
    """
    async with transactions.connect(access.dsn, pool_size=1) as owner:
        server = await inspection.server(owner)
    if not server.migrated:
        raise errors.SchemaMismatch("The database has no Stepwell schema: there is nothing to back up.")
    _refuse_others(server)
    return await backups.dump(access, file, server_major=server.version_num // 10_000, replace=replace)


async def load(file: Path, *, access: Access, embedding: tuple[str, int], replace: bool = False) -> Restored:
    """Load a backup into a database that is empty, or whose data may be replaced; all of it or nothing.

    `embedding` is the configured model and dimension. The caller upgrades the schema afterwards. Raises BadRequest
    where the file is no backup, SchemaMismatch where this version cannot use it, Conflict where the
    database is not empty or in use, BackupFailed, DatabaseUnavailable.
    """
    async with transactions.connect(access.dsn, pool_size=1) as owner:
        server = await inspection.server(owner)
        if server.migrated:
            _refuse_others(server)
        target = await backups.target(owner)
        archive = await backups.describe(file, access.environment)
        _refuse_unusable(archive, embedding)
        _refuse_occupied(target, replace=replace)
    if not target.migrated:
        # Creates what a backup does not hold: the extension, roles, and what migrations change outside the schema.
        await migration.upgrade(access.dsn, model=embedding[0], dimension=embedding[1])
    await backups.load(access, file)
    return Restored(archive, not target.has_role, archive.server_major not in (None, target.server_major))


def _refuse_others(server: ServerFacts) -> None:
    if not server.owns:
        raise errors.SchemaMismatch(
            f"{server.role} does not own the tables: set STEPWELL_MIGRATION_URL to the owner's address."
        )


def _refuse_unusable(archive: Archive, embedding: tuple[str, int]) -> None:
    if migration.is_earlier(archive.revision):
        raise errors.SchemaMismatch(
            f"The backup is at revision {archive.revision}, this version restores from {migration.BASELINE} on: "
            f"restore it with commit {migration.LAST_FOR_EARLIER}, and upgrade the database with this version."
        )
    if not migration.is_known(archive.revision):
        raise errors.SchemaMismatch(
            f"The backup is at revision {archive.revision}, which this version does not support (its newest is "
            f"{migration.head()}): restore it with the version of Stepwell that wrote it, or a newer one."
        )
    found = (archive.model, archive.dimension)
    if archive.model is not None and found != embedding:
        raise errors.SchemaMismatch(
            f"The backup contains vectors of {found[0]} ({found[1]} dimensions), the settings require {embedding[0]} "
            f"({embedding[1]}): set STEPWELL_EMBEDDER to the model of the backup."
        )


def _refuse_occupied(target: backups.RestoreTarget, *, replace: bool) -> None:
    if target.sessions:
        connections = terminal.format_count(target.sessions, "connection")
        raise errors.Conflict(f"The service has {connections} to this database: stop it, then restore.")
    if not (target.is_empty or replace):
        users, keys = terminal.format_count(target.users, "user"), terminal.format_count(target.keys, "API key")
        raise errors.Conflict(
            f"The database is not empty: it contains {users} and {keys}. "
            "Restore into an empty database, or add --replace to delete its data."
        )
