"""Implements `stepwell reindex`: applies changed chunking options to the stored documents."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer
from rich.markup import escape

from app import runtime
from app.cli import options, terminal
from app.cli.progress import Progress
from app.entities.linking import mention_refresh
from app.maintenance import reindex as pipeline
from app.maintenance import repair
from app.maintenance.commands.repair import Users, owner_at_revision
from app.maintenance.reindex import Reindexed
from app.runtime import configured_models
from app.services import Services
from app.settings import Settings


def reindex(
    user: Users = None,
    every: Annotated[bool, typer.Option("--all", help="Also compare documents with the current options.")] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Cut documents again that were cut with another size or overlap of chunks; the service may run.

    The command may be interrupted and repeated. Searches find the old chunks of a document or the new ones.
    """
    settings = options.settings(data_dir)
    done = options.run(_reindex(settings, user or [], every=every))
    terminal.end_with_json({one: dataclasses.asdict(reindexed) for one, reindexed in done.items()}, wanted=as_json)
    total = sum(done.values(), Reindexed())
    compared = terminal.format_count(total.compared, "document")
    embedded = terminal.format_count(total.embedded, "chunk")
    terminal.out.print(f"{compared} compared, {total.cut} cut again, {embedded} embedded.")


async def _reindex(settings: Settings, chosen: list[str], *, every: bool) -> dict[str, Reindexed]:
    cut = runtime.chunking_options(settings)
    async with (
        owner_at_revision(settings) as owner,
        configured_models.open_stored(settings, owner, patience_s=configured_models.COMMAND_PATIENCE_S) as embedder,
    ):
        services = Services(owner, embedder, chunking_options=cut)
        users = await repair.users(chosen, db=owner)
        done = dict.fromkeys(users, Reindexed())
        for one in users:
            total = await pipeline.count(one, cut, db=owner, every=every)
            with Progress(console=terminal.err) as bar:
                task = bar.add_task(f"Documents of {escape(one)}", total=total)
                async for now in pipeline.run(one, services, which="every" if every else "outdated"):
                    done[one] = now
                    bar.update(task, completed=now.compared)
            await mention_refresh.settle(one, services)
        return done
