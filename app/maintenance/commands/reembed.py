"""Implements `stepwell reembed`: replaces the embedding model of a database while it is searched.

The owner creates tables for the vectors of the other model, and the command fills them, user after user; documents that
are stored meanwhile get vectors of both models from processes that have both. Once nothing is missing, the owner
replaces the tables in one transaction. All of it can be interrupted and continued.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from app import errors, runtime
from app.cli import database_as_owner, options, terminal
from app.cli.progress import Progress
from app.database import retries
from app.database.schema import reembedding
from app.database.schema.reembedding import StoredModel
from app.database.transactions import Database, Writing
from app.database.vectors import VectorValue
from app.documents.storing import document_writes
from app.documents.storing.document_writes import Key
from app.maintenance import repair
from app.maintenance.store import repairs
from app.runtime import configured_models
from app.services import Services
from app.settings import Settings

CHUNKS = 128
"""Chunks that are embedded and stored at once."""
SWITCH_PAUSE_S, LOCK_RETRY_S = 1.0, 120.0
Store = Callable[[Writing, Mapping[Key, VectorValue]], Awaitable[None]]


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
    if cancel:
        done = database_as_owner.run(data_dir, drop)
        terminal.end_with_json({"cancelled": done}, wanted=as_json)
        _say("The vectors were dropped; the present model stays." if done else "No re-embedding is in progress.")
        return
    model = options.run(_reembed(options.settings(data_dir)))
    terminal.end_with_json({"model": model.model, "dimension": model.dimension}, wanted=as_json)
    _say(
        f"The vectors are those of {model.model} ({model.dimension} dimensions). Replace the settings of "
        "STEPWELL_EMBEDDER by those of STEPWELL_NEXT_EMBEDDER at the next restart."
    )


async def _reembed(settings: Settings) -> StoredModel:
    if (following := settings.next()) is None:
        raise errors.BadRequest(
            'Name the model to change to, such as STEPWELL_NEXT_EMBEDDER={"embedder": "onnx", "model": "folder"}.',
            field="STEPWELL_NEXT_EMBEDDER",
        )
    name = configured_models.embedding(following)
    async with runtime.open_database(settings) as database, database_as_owner.open_owner(settings) as owner:
        if (stored := await reembedding.read_stored(owner)).name == name:
            return stored
        await begin(owner, name)
        async with configured_models.open_embedder(
            following, patience_s=configured_models.COMMAND_PATIENCE_S
        ) as embedder:
            with Progress(console=terminal.err) as bar:
                task = bar.add_task("Embedding chunks", total=None)
                async for state in fill(Services(database, embedder), owner):
                    bar.update(task, completed=state.done, total=state.total or None)
        return await reembedding.read_stored(owner)


def _say(text: str) -> None:
    terminal.out.print(text, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class FillingState:
    """How many chunks this command has embedded with the other model, and how many there are to embed."""

    done: int
    total: int


async def begin(owner: Database, model: tuple[str, int]) -> None:
    """Create the tables for a model, by name and dimension, unless they exist.

    Raises Conflict if they belong to a third model, Busy if locks are held for LOCK_RETRY_S.
    """
    await retries.while_unavailable(LOCK_RETRY_S, _begin, owner, model)


async def _begin(owner: Database, model: tuple[str, int]) -> None:
    found = await _target(owner)
    if found is None:
        await reembedding.begin(owner, *model)
    elif found.name != model:
        raise errors.Conflict(
            f"The vectors of {found.model} ({found.dimension}) are being computed: name it in STEPWELL_NEXT_EMBEDDER, "
            "or run `stepwell reembed --cancel`.",
            field="STEPWELL_NEXT_EMBEDDER",
        )


async def fill(services: Services, owner: Database) -> AsyncIterator[FillingState]:
    """Fill the tables for the model of `services`, and switch to them; yields the progress.

    Raises ProviderError, DatabaseUnavailable, and Conflict if another command has switched to them or dropped them;
    what is computed is kept.
    """
    done = 0
    while True:
        table, missing = await _missing(services, owner)
        total = done + sum(missing.values())
        yield FillingState(done, total)
        if not missing:
            await reembedding.analyze(owner)
            with suppress(errors.Busy):
                if await reembedding.switch(owner):
                    return
                continue
            await asyncio.sleep(SWITCH_PAUSE_S)
        for user_id in missing:
            filling = _Filling(user_id, table, services)
            async for embedded in filling.chunks():
                done += embedded
                yield FillingState(min(done, total), total)
            await filling.entities()


async def _missing(services: Services, owner: Database) -> tuple[int, dict[str, int]]:
    """The table to fill, and how many chunks of each user lack a vector. Raises Conflict."""
    model = services.embedder.model
    async with owner.shared() as shared:
        target = await reembedding.target(shared)
        if target is None or target.name != (model.name, model.dimension):
            raise _ended()
        return target.table, await reembedding.gaps(shared)


def _ended() -> errors.Conflict:
    return errors.Conflict("Another command has completed or cancelled it: `stepwell doctor` names the model in use.")


async def drop(owner: Database) -> bool:
    """Drop the vectors of the other model; false if there are none."""
    if await _target(owner) is None:
        return False
    await retries.while_unavailable(LOCK_RETRY_S, _drop, owner)
    return True


async def _drop(owner: Database) -> None:
    if await _target(owner) is not None:
        await reembedding.abandon(owner)


async def _target(owner: Database) -> StoredModel | None:
    """The other model. A repeated step asks for it again: the answer to a commit may have been lost."""
    async with owner.shared() as shared:
        return await reembedding.target(shared)


@dataclass(frozen=True, slots=True)
class _Filling:
    """Computes the missing vectors of a user. `table` is the object id of the table for the vectors of chunks."""

    user_id: str
    table: int
    services: Services

    async def chunks(self) -> AsyncIterator[int]:
        """Embed the chunks without a vector, in the order of their numbers; yields how many in each step."""
        after = 0
        while True:
            async with self.services.db.reading(self.user_id) as reading:
                found = await repairs.texts_without_vector(reading, after=after, limit=CHUNKS, table="embeddings_next")
            if not found:
                return
            await self._add(partial(repairs.add_vectors, of_next=True), repair.embedded_texts(found))
            after = found[-1].chunk_no
            yield len(found)

    async def entities(self) -> None:
        """Embed the descriptions of entities without a vector."""
        while True:
            async with self.services.db.reading(self.user_id) as reading:
                found = await reembedding.descriptions(reading, limit=CHUNKS)
            if not found:
                return
            await self._add(partial(reembedding.add_descriptions, described=found), found)

    async def _add(self, store: Store[Key], texts: Mapping[Key, str]) -> None:
        """Compute vectors and store them."""
        vectors = await document_writes.compute_vectors(texts, self.services.embedder)
        await retries.while_unavailable(LOCK_RETRY_S, self._write, store, vectors)

    async def _write(self, store: Store[Key], vectors: Mapping[Key, VectorValue]) -> None:
        async with self.services.db.locking(self.user_id) as writing:
            if writing.vector_tables.next != self.table:
                raise _ended()
            await store(writing, vectors)
