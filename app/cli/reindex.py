"""Implements `stepwell reindex`: applies changed chunking options to the stored documents."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app import runtime
from app.cli import options
from app.cli.repair import owner_at_revision
from app.config import Settings
from app.pipelines import mention_refresh, repair
from app.pipelines import reindex as pipeline
from app.pipelines.reindex import Reindexed
from app.pipelines.services import Services
from app.providers import scope
from app.runtime import models

PROVIDER_RETRY_S = 900.0
"""How long passages are sent again while a remote embedder fails; then the command ends and can be repeated."""


def reindex(
    user: Annotated[
        list[str] | None, typer.Option("--user", help="Only this user; may be repeated.", show_default="all users")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also compare documents with the current options.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count documents and change nothing.")] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Cut documents again that were cut with another size or overlap of chunks; the service may run.

    The command may be interrupted and repeated. Searches find the old chunks of a document or the new ones.
    """
    settings = options.settings(data_dir)
    chosen = [options.checked_user(one) for one in user or ()]
    if dry_run:
        counts = options.run(_count(settings, chosen))
        typer.echo(json.dumps(counts) if as_json else f"{sum(counts.values())} documents would be compared.")
        return
    done = options.run(_reindex(settings, chosen, every=every))
    if as_json:
        typer.echo(json.dumps({one: dataclasses.asdict(reindexed) for one, reindexed in done.items()}))
        return
    total = [sum(values) for values in zip(*map(dataclasses.astuple, done.values()), strict=True)] or [0, 0, 0]
    options.out.print(f"{total[0]} documents compared, {total[1]} cut again, {total[2]} chunks embedded.")


async def _count(settings: Settings, chosen: list[str]) -> dict[str, int]:
    cut = runtime.chunking_options(settings)
    async with owner_at_revision(settings) as owner:
        return {one: await pipeline.count(one, cut, db=owner) for one in chosen or await repair.users(db=owner)}


async def _reindex(settings: Settings, chosen: list[str], *, every: bool) -> dict[str, Reindexed]:
    cut = runtime.chunking_options(settings)
    async with owner_at_revision(settings) as owner, models.open_embedder(settings) as embedder:
        services = Services(owner, embedder, chunking_options=cut)
        with scope.retrying_bulk(PROVIDER_RETRY_S):
            users = chosen or await repair.users(db=owner)
            return {one: await _of_user(one, services, every=every) for one in users}


async def _of_user(user_id: str, services: Services, *, every: bool) -> Reindexed:
    done = Reindexed()
    total = None if every else await pipeline.count(user_id, services.chunking_options, db=services.db)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=options.err) as bar:
        task = bar.add_task(f"Documents of {user_id}", total=total)
        async for done in pipeline.run(user_id, services, every=every):
            bar.update(task, completed=done.compared)
    await mention_refresh.settle(services.db, user_id, keys=services.chunking_options.entity_keys)
    return done
