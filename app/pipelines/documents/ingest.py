"""Stores uploads: cleans and chunks them, embeds the chunks that have no vector yet, and writes each document.

A document is written in one transaction, and none is open while the model computes vectors. A cancelled upload
stores nothing.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from uuid import UUID

from app import errors
from app.pipelines.documents import chunk_vectors, document_drafts, large_documents, upload_batch
from app.pipelines.documents.upload_batch import BULK_RETRY_S, IngestOutcome, UploadBatch, WritePace
from app.pipelines.linking import gazetteers, llm_entities, mention_extraction
from app.pipelines.running import cancellable, model_switch
from app.pipelines.running.chunking_options import ChunkingOptions
from app.pipelines.running.services import Services
from app.providers.base import EmbeddingModel
from app.shapes import DocumentDraft, IngestResult, Upload
from app.store.documents import documents

BATCH_CHARACTERS = 76_800
"""Text of the documents that are embedded together: about 128 chunks. The model pads short texts less in larger
batches, which it sorts by length."""
FIRST_CHARACTERS = 9_600
"""Text of the first documents that are embedded together."""
LAST_DOCUMENTS = 24
"""Documents that are embedded together at the end, if there are more than one group."""
EMBEDDED_AT_ONCE = 2
"""Groups that are embedded at the same time, so that the model does not wait between them."""
MIN_DOCUMENT_CHARACTERS = 400
"""Length that a shorter document counts as when batches are formed."""
REQUEST_RETRY_S = 1.0
"""How long a step is retried while the database is unavailable and a caller waits for the response."""


async def run(
    upload: Upload, user_id: str, services: Services, *, retry_s: float = BULK_RETRY_S, wait: bool = True
) -> IngestResult:
    """Store one document, unless the same is stored already.

    While the database is unavailable, each step is retried for `retry_s` seconds. A large document is stored by a job;
    without `wait` it is only queued.
    Raises BadRequest naming the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """
    draft = await _prepared(upload, services)
    batch = UploadBatch([(upload, draft)], retry_s=retry_s, wait=wait)
    await batch.find_stored(user_id, db=services.db)
    return await batch.store(draft, user_id, services)


@model_switch.repeated
async def replace(document_id: UUID, upload: Upload, user_id: str, services: Services) -> IngestResult:
    """Store an upload as the new content of a document, a large one by a job that is only queued.

    Raises NotFound, Conflict, and what `run` raises.
    """
    db = services.db
    async with db.reading(user_id) as reading:
        document = await documents.get(reading, document_id)
        await gazetteers.current(reading)
    if upload.uri is None and document.uri is not None:
        upload = dataclasses.replace(upload, uri=document.uri)
    draft = await _prepared(upload, services)
    if upload_batch.is_large(draft):
        return await large_documents.queue(draft, user_id, services, document_id=document_id)
    batch = UploadBatch([(upload, draft)], retry_s=REQUEST_RETRY_S)
    await batch.embed([draft], user_id, services)
    async with db.writing(user_id) as writing:
        status = await documents.replace(writing, document_id, draft, vectors_by_key=batch.vectors)
        if status != "unchanged":
            await chunk_vectors.store_target(writing, [document_id], batch.target)
            await mention_extraction.link(writing, document_id, keys=services.chunking_options.entity_keys)
            await llm_entities.enqueue(writing, [document_id], services.chunking_options)
    return batch.result(document_id, status, draft)


async def many(
    uploads: Iterable[Upload] | AsyncIterable[Upload],
    user_id: str,
    services: Services,
    *,
    retry_s: float = BULK_RETRY_S,
    wait: bool = True,
) -> AsyncGenerator[IngestOutcome, None]:
    """Store several documents in their order, each stored or rejected on its own.

    Meanwhile the next ones are embedded, and those after them read and cut, so that the model need not wait for them.

    The result is the same as that of storing them one by one, also if a document comes several times, once new names in
    metadata have been matched in the texts before them, which a job does.
    While the database is unavailable, each step is retried for `retry_s` seconds. Large documents are stored by jobs;
    without `wait` they are only queued. Raises errors that concern all documents: ProviderError, DatabaseUnavailable.
    Outcomes that were yielded before stay stored.
    """
    pace = WritePace()

    async def prepared() -> AsyncGenerator[UploadBatch, None]:
        async for group in _groups(_each(uploads)):
            characters = sum(len(upload.content) for upload in group)
            work = partial(_prepare_all, group, services.embedder.model, services.chunking_options)
            batch = UploadBatch(await cancellable.run(characters, work), retry_s=retry_s, wait=wait, pace=pace)
            await batch.find_known(user_id, services)
            yield batch

    async def embedded() -> AsyncGenerator[UploadBatch, None]:
        embedding = deque[tuple[UploadBatch, asyncio.Task[None]]]()
        try:
            async with aclosing(_ahead(prepared())) as batches:
                async for batch in batches:
                    task = asyncio.create_task(batch.embed(batch.to_embed(), user_id, services))
                    embedding.append((batch, task))
                    if len(embedding) == EMBEDDED_AT_ONCE:
                        await embedding[0][1]
                        yield embedding.popleft()[0]
            while embedding:
                await embedding[0][1]
                yield embedding.popleft()[0]
        finally:
            for _batch, task in embedding:
                task.cancel()
            await asyncio.gather(*(task for _batch, task in embedding), return_exceptions=True)

    async with aclosing(_ahead(embedded())) as batches:
        async for batch in batches:
            batch.is_outdated = True
            async with aclosing(batch.outcomes(user_id, services)) as outcomes:
                async for outcome in outcomes:
                    yield outcome


async def _prepared(upload: Upload, services: Services) -> DocumentDraft:
    work = partial(_prepare, upload, services.embedder.model, services.chunking_options)
    return await cancellable.run(len(upload.content), work)


def _prepare(
    upload: Upload, model: EmbeddingModel, options: ChunkingOptions, *, check: Callable[[], None]
) -> DocumentDraft:
    """The draft of an upload; that of a large one has no chunks. Raises BadRequest."""
    large_documents.check_length(len(upload.content))
    draft = document_drafts.hashed(document_drafts.clean(upload, check=check))
    return (
        draft if upload_batch.is_large(draft) else document_drafts.cut(draft, model=model, options=options, check=check)
    )


async def _each(uploads: Iterable[Upload] | AsyncIterable[Upload]) -> AsyncIterator[Upload]:
    if isinstance(uploads, AsyncIterable):
        async for upload in uploads:
            yield upload
    else:
        for upload in uploads:
            yield upload


async def _groups(uploads: AsyncIterable[Upload]) -> AsyncIterator[list[Upload]]:
    """The uploads in groups that grow to about BATCH_CHARACTERS; what is left at the end, in ever smaller ones.

    So the model begins early, and little is left to write when it has finished.
    """
    group: list[Upload] = []
    characters, most = 0, min(FIRST_CHARACTERS, BATCH_CHARACTERS)
    async for upload in uploads:
        group.append(upload)
        characters += max(len(upload.content), MIN_DOCUMENT_CHARACTERS)
        if characters >= most:
            yield group
            group, characters, most = [], 0, min(2 * most, BATCH_CHARACTERS)
    while len(group) > LAST_DOCUMENTS:
        half = (len(group) + 1) // 2
        yield group[:half]
        group = group[half:]
    if group:
        yield group


def _prepare_all(
    group: Sequence[Upload], model: EmbeddingModel, options: ChunkingOptions, *, check: Callable[[], None]
) -> list[tuple[Upload, DocumentDraft | errors.BadRequest]]:
    prepared: list[tuple[Upload, DocumentDraft | errors.BadRequest]] = []
    for upload in group:
        try:
            prepared.append((upload, _prepare(upload, model, options, check=check)))
        except errors.BadRequest as error:
            prepared.append((upload, error))
    return prepared


async def _ahead(batches: AsyncGenerator[UploadBatch, None]) -> AsyncGenerator[UploadBatch, None]:
    """The batches, of which one waits and the next is made while one is used. Raises what making them raises."""
    ready: asyncio.Queue[UploadBatch | None] = asyncio.Queue(maxsize=1)

    async def make() -> None:
        async with aclosing(batches):
            async for batch in batches:
                await ready.put(batch)
        await ready.put(None)

    making = asyncio.create_task(make())
    try:
        while (batch := await _next(ready, making)) is not None:
            yield batch
    finally:
        making.cancel()
        await asyncio.gather(making, return_exceptions=True)


async def _next(ready: asyncio.Queue[UploadBatch | None], making: asyncio.Task[None]) -> UploadBatch | None:
    """The next batch, None after the last. Raises the exception of the task that makes them."""
    getting = asyncio.ensure_future(ready.get())
    await asyncio.wait({getting, making}, return_when=asyncio.FIRST_COMPLETED)
    if not getting.done() and making.exception() is not None:
        getting.cancel()
        await making
    return await getting
