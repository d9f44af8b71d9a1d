"""Implements `stepwell reembed`: replaces the embedding model of a database while it is searched."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from app import errors, runtime
from app.cli import options, ownership, terminal
from app.cli.progress import Progress
from app.database.schema import reembedding
from app.database.schema.reembedding import StoredModel
from app.database.transactions import Database
from app.maintenance import reembed as pipeline
from app.runtime import models
from app.services import Services, VectorCache
from app.settings import Settings


def reembed(
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


async def _reembed(settings: Settings) -> StoredModel:
    following = _next(settings)
    name = models.embedding(following)
    async with runtime.open_database(settings) as database, ownership.open_owner(settings) as owner:
        if (stored := await reembedding.stored(owner)).name == name:
            return stored
        await pipeline.begin(owner, name)
        async with models.open_embedder(following, patience_s=models.COMMAND_PATIENCE_S) as embedder:
            cache = VectorCache(settings.embedding_cache_size)
            await _fill(Services(database, embedder, cache=cache), owner)
        return await reembedding.stored(owner)


async def _fill(services: Services, owner: Database) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=options.err) as bar:
        task = bar.add_task("Embedding chunks", total=None)
        async for state in pipeline.run(services, owner):
            bar.update(task, completed=state.done, total=state.total or None)


def _next(settings: Settings) -> Settings:
    following = settings.next()
    if following is None:
        raise errors.BadRequest(
            'Name the model to change to, such as STEPWELL_NEXT_EMBEDDER={"embedder": "onnx", "model": "folder"}.',
            field="STEPWELL_NEXT_EMBEDDER",
        )
    return following


def _say(text: str) -> None:
    options.out.print(text, soft_wrap=True)
