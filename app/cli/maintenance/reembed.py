"""Implements `stepwell reembed`: replaces the embedding model of a database while it is searched."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from app import errors, runtime
from app.cli import options, ownership, terminal
from app.cli.progress import Progress
from app.config import Settings
from app.pipelines.maintenance import reembed as pipeline
from app.pipelines.maintenance.reembed import Estimate
from app.pipelines.running.services import Services
from app.runtime import models
from app.store.connection.transactions import Database
from app.store.maintenance import reembedding
from app.store.maintenance.reembedding import StoredModel


def reembed(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the number of documents and tokens and the time, change nothing.")
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Keep the present model and drop what was computed.")
    ] = False,
    as_json: options.AsJson = False,
    data_dir: options.DataDir = None,
) -> None:
    """Replace the embedding model by STEPWELL_NEXT_EMBEDDER; the service may run and answers searches throughout.

    The command may be interrupted and repeated. Running services with STEPWELL_NEXT_EMBEDDER need no restart.
    """
    settings = options.settings(data_dir)
    if cancel:
        done = options.run(_cancel(settings))
        if as_json:
            terminal.write_json({"cancelled": done})
            return
        _say("The vectors were dropped; the present model stays." if done else "No re-embedding is in progress.")
        return
    if dry_run:
        _show(options.run(_estimate(settings)), as_json=as_json)
        return
    model = options.run(_reembed(settings))
    if as_json:
        terminal.write_json({"model": model.model, "dimension": model.dimension})
        return
    _say(
        f"The vectors are those of {model.model} ({model.dimension} dimensions). Replace the settings of "
        "STEPWELL_EMBEDDER by those of STEPWELL_NEXT_EMBEDDER at the next restart."
    )


async def _cancel(settings: Settings) -> bool:
    async with ownership.open_owner(settings) as owner:
        return await pipeline.cancel(owner)


async def _estimate(settings: Settings) -> Estimate:
    following = _next(settings)
    async with ownership.open_owner(settings) as owner, models.open_embedder(following) as embedder:
        return await pipeline.estimate(owner, embedder)


async def _reembed(settings: Settings) -> StoredModel:
    name = models.embedding(_next(settings))
    async with _opened(settings) as (services, owner):
        stored = await reembedding.stored(owner)
        if stored.name == name:
            return stored
        await pipeline.begin(owner, name)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=options.err) as bar:
            task = bar.add_task("Embedding chunks", total=None)
            async for state in pipeline.run(services, owner):
                bar.update(task, completed=state.done, total=state.total or None)
        return await reembedding.stored(owner)


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[Services, Database]]:
    """The services that compute vectors, as the service's role, and the database as its owner."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(runtime.open_database(settings))
        owner = await stack.enter_async_context(ownership.open_owner(settings))
        opening = models.open_stored(settings, database, patience_s=models.COMMAND_PATIENCE_S)
        embedder = await stack.enter_async_context(opening)
        yield Services(database, embedder), owner


def _next(settings: Settings) -> Settings:
    following = settings.next()
    if following is None:
        raise errors.BadRequest(
            'Name the model to change to, such as STEPWELL_NEXT_EMBEDDER={"embedder": "onnx", "model": "folder"}.',
            field="STEPWELL_NEXT_EMBEDDER",
        )
    return following


def _show(found: Estimate, *, as_json: bool) -> None:
    if as_json:
        terminal.write_json({**dataclasses.asdict(found.corpus), "seconds": found.seconds})
        return
    corpus = found.corpus
    size = f"{corpus.documents} documents in {corpus.chunks} chunks, {corpus.tokens} tokens"
    took = "" if found.seconds is None else f", about {_duration(found.seconds)} at the speed of a sample"
    _say(f"{size}{took}. Nothing was changed.")


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return (
        f"{max(1, round(seconds))} s" if seconds < 120 else f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
    )


def _say(text: str) -> None:
    options.out.print(text, soft_wrap=True)
