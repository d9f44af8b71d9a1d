"""Implements `stepwell backup` and `stepwell restore`: the whole database as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app import settings as config
from app.cli import options, ownership, terminal
from app.maintenance import backups
from app.maintenance.backups import Restored
from app.maintenance.store import backups as storage
from app.maintenance.store.backups import Access, Archive
from app.settings import Settings

File = Annotated[Path, typer.Argument(help="The backup file, in the custom format of pg_dump.")]


def backup(
    file: File,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a file that exists; without it, the name must be free.")
    ] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write a backup of the whole database to FILE (mode 0600); the service may run. A failed backup leaves no file."""
    archive = options.run(_backup(options.settings(data_dir), file.absolute(), replace=replace))
    if as_json:
        terminal.write_json({"file": str(file), **_as_json(archive)})
    else:
        options.out.print(f"Wrote {file}: {_shown(archive)}.", soft_wrap=True, markup=False)


def restore(
    file: File,
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
    rebuilt = _rebuild(settings) if restored.stems_differ else 0
    needs_password = restored.role_created and settings.database_url is not None
    if as_json:
        done = {"file": str(file), **_as_json(restored.archive), "now_at": revision}
        terminal.write_json({**done, "service_needs_password": needs_password, "users_repaired": rebuilt})
        return
    shown = f"Restored {file}: {_shown(restored.archive)}; now at revision {revision}."
    options.out.print(shown, soft_wrap=True, markup=False)
    if restored.stems_differ:
        major = restored.archive.server_major
        options.out.print(f"Postgres {major} wrote it and has other stems: rows of {rebuilt} users were rebuilt.")
    if needs_password:
        options.out.print("stepwell_service has no password yet: run `stepwell db upgrade --set-service-password`.")


def _rebuild(settings: Settings) -> int:
    """Repairs all users; returns how many had rows that differed."""
    from app.maintenance.commands import repair  # which imports the models

    damage, _waiting = options.run(repair.compare(settings, [], dry_run=False))
    return sum(map(bool, damage.values()))


async def _backup(settings: Settings, file: Path, *, replace: bool) -> Archive:
    async with ownership.open_dsn(settings) as dsn:
        return await backups.create(file, access=Access(dsn, config.environment()), replace=replace)


async def _restore(settings: Settings, file: Path, *, replace: bool) -> tuple[Restored, str]:
    from app import runtime  # which imports the models, whose dimension the backup must have
    from app.runtime import models

    async with ownership.open_dsn(settings) as dsn:
        access = Access(dsn, config.environment())
        restored = await backups.restore(file, access=access, embedding=models.embedding(settings), replace=replace)
        revision = await runtime.migrate(settings, dsn)
        await storage.vacuum(dsn)
        return restored, revision


def _as_json(archive: Archive) -> dict[str, object]:
    return {"bytes": archive.bytes, "revision": archive.revision, "model": archive.model}


def _shown(archive: Archive) -> str:
    model = f", vectors of {archive.model}" if archive.model else ""
    return f"{archive.bytes / 1e6:.1f} MB, revision {archive.revision}{model}"
