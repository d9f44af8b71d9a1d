"""Implements `stepwell repair`: rebuilds derived rows (postings, vectors, mentions, …) that do not fit their source."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from app import runtime
from app.cli import database_as_owner, options, terminal
from app.database import transactions
from app.database.schema import migration, roles
from app.database.transactions import Database, TimeLimits
from app.derived_row_repairs import Damage
from app.maintenance import repair as pipeline
from app.runtime import configured_models
from app.services import Services
from app.settings import Settings

LIMITS = TimeLimits(read_ms=3_600_000, write_ms=600_000)
Users = Annotated[
    list[str] | None, typer.Option("--user", help="Only this user; may be repeated.", show_default="all users")
]


def repair(
    user: Users = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report differences and change nothing.")] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Compare all derived rows with the stored texts and rebuild those that differ; the service may run."""
    found, waiting = options.run(compare(options.settings(data_dir), user or [], dry_run=dry_run))
    counted = {user: {one.kind: damage.get(one.kind, 0) for one in pipeline.every()} for user, damage in found.items()}
    terminal.end_with_json(counted, wanted=as_json)
    for one, damage in found.items():
        counts = [f"{damage[kind.kind]} {kind.noun}" for kind in pipeline.every() if kind.kind in damage]
        if damage:
            terminal.out.print(f"{one}: {', '.join(counts)}", markup=False, soft_wrap=True)
    wrong = sum(bool(damage) for damage in found.values())
    done = "would be rebuilt" if dry_run else "were rebuilt"
    result = f"rows of {wrong} {done}" if wrong else "nothing was wrong"
    terminal.out.print(f"{terminal.format_count(len(found), 'user')} compared; {result}.")
    if waiting:
        users = terminal.format_count(waiting, "user")
        terminal.out.print(f"Mentions of {users} were not compared: jobs are linking their texts. Try again.")


async def compare(settings: Settings, chosen: list[str], *, dry_run: bool) -> tuple[dict[str, Damage], int]:
    """Repairs the chosen users, or all users if none is chosen; with `dry_run` it only compares.

    Returns the damage by user, and for how many users the mentions could not be compared.
    """
    keys = settings.entity_keys
    async with owner_at_revision(settings) as owner:
        users = await pipeline.users(chosen, db=owner)
        if dry_run:
            checked = {one: await pipeline.check(one, db=owner, keys=keys) for one in users}
            waiting = sum(one.linked is None for one in checked.values())
            return {user: one.damage for user, one in checked.items()}, waiting
        async with configured_models.open_stored(settings, owner) as embedder:
            services = Services(owner, embedder, chunking_options=runtime.chunking_options(settings))
            return {one: await pipeline.run(one, services) for one in users}, 0


@asynccontextmanager
async def owner_at_revision(settings: Settings) -> AsyncIterator[Database]:
    """The database as its owner, at this version's revision and model. Raises BadRequest, SchemaMismatch."""
    async with (
        database_as_owner.open_dsn(settings) as dsn,
        transactions.connect(dsn, pool_size=2, limits=LIMITS) as owner,
    ):
        await roles.check_owner(owner)
        model, dimension = configured_models.embedding(settings)
        await migration.check(owner, model=model, dimension=dimension, target=configured_models.target(settings))
        yield owner
