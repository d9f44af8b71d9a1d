"""Implements `stepwell reindex`: applies changed chunking options to the stored documents."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import typer

from app import runtime
from app.cli import json_option, options, terminal
from app.cli.progress import Progress
from app.database.filter_types import Filters
from app.documents import selections
from app.entities.linking import mention_refresh
from app.errors import BadRequest
from app.maintenance import reindex as pipeline
from app.maintenance import repair
from app.maintenance.commands.repair import owner_at_revision
from app.maintenance.reindex import Reindexed
from app.requests.filter_models import SearchFilters
from app.runtime import models
from app.services import Services
from app.settings import Settings


def reindex(
    user: Annotated[
        list[str] | None, typer.Option("--user", help="Only this user; may be repeated.", show_default="all users")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also compare documents with the current options.")] = False,
    filters: json_option.FiltersJson = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count documents and change nothing.")] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Cut documents again that were cut with another size or overlap of chunks; the service may run.

    With --filters the documents that pass them are compared with the current options, whatever they were cut with.
    The command may be interrupted and repeated. Searches find the old chunks of a document or the new ones.
    """
    settings = options.settings(data_dir)
    chosen = [options.check_user(one) for one in user or ()]
    only = None if filters is None else json_option.parse(filters, SearchFilters, field="filters").shape()
    if only is not None and every:
        raise BadRequest("Use either --filters or --all.", field="--filters")
    if dry_run:
        counts = options.run(_count(settings, chosen, only))
        if as_json:
            terminal.write_json(counts)
        else:
            terminal.write(f"{options.format_count(sum(counts.values()), 'document')} would be compared.")
        return
    which: Filters | Literal["every"] | None = "every" if every else only
    done = options.run(_reindex(settings, chosen, which))
    if as_json:
        terminal.write_json({one: dataclasses.asdict(reindexed) for one, reindexed in done.items()})
        return
    total = sum(done.values(), Reindexed())
    compared = options.format_count(total.compared, "document")
    embedded = options.format_count(total.embedded, "chunk")
    options.out.print(f"{compared} compared, {total.cut} cut again, {embedded} embedded.")


async def _count(settings: Settings, chosen: list[str], only: Filters | None) -> dict[str, int]:
    cut = runtime.chunking_options(settings)
    async with owner_at_revision(settings) as owner:
        users = chosen or await repair.users(db=owner)
        if only is not None:
            return {one: (await selections.count(only, one, db=owner)).documents for one in users}
        return {one: await pipeline.count(one, cut, db=owner) for one in users}


async def _reindex(
    settings: Settings, chosen: list[str], which: Filters | Literal["every"] | None
) -> dict[str, Reindexed]:
    cut = runtime.chunking_options(settings)
    async with (
        owner_at_revision(settings) as owner,
        models.open_stored(settings, owner, patience_s=models.COMMAND_PATIENCE_S) as embedder,
    ):
        services = Services(owner, embedder, chunking_options=cut)
        users = chosen or await repair.users(db=owner)
        return {one: await _of_user(one, services, which) for one in users}


async def _of_user(user_id: str, services: Services, which: Filters | Literal["every"] | None) -> Reindexed:
    done = Reindexed()
    listed: pipeline.Which = "every" if which == "every" else "outdated"
    total: int | None = None
    if isinstance(which, Filters):
        listed, total = "marked", await pipeline.mark(which, user_id, db=services.db)
    elif which is None:
        total = await pipeline.count(user_id, services.chunking_options, db=services.db)
    with Progress(console=options.err) as bar:
        task = bar.add_task(f"Documents of {user_id}", total=total)
        async for done in pipeline.run(user_id, services, which=listed):
            bar.update(task, completed=done.compared)
    await mention_refresh.settle(user_id, services)
    return done
