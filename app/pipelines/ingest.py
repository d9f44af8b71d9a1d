"""Stores uploads: cleans and chunks them, embeds the chunks that have no vector yet, and writes each document.

Each document is written in one transaction, and none is open while the model computes vectors. A cancelled upload
stores nothing.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

import stamina

from app import errors
from app.pipelines import (
    cancellable,
    chunk_vectors,
    document_drafts,
    gazetteers,
    large_documents,
    mention_extraction,
    model_switch,
)
from app.pipelines.chunk_vectors import ChunkVectors, TargetVectors
from app.pipelines.chunking_options import ChunkingOptions
from app.pipelines.services import Services
from app.providers.base import EmbeddingModel
from app.shapes import DocumentDraft, IngestResult, Upload
from app.store import documents
from app.store.db import Database
from app.store.document_rows import VectorValue

P = ParamSpec("P")
T = TypeVar("T")
BATCH_CHARACTERS = 38_400
"""Text of the documents that are embedded together: about 64 chunks."""
MIN_DOCUMENT_CHARACTERS = 400
"""Length that a shorter document counts as when batches are formed."""
BULK_RETRY_S, REQUEST_RETRY_S = 15.0, 1.0
"""How long a step is retried while the database is unavailable: in bulk, and while a caller waits for the response."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """The result of one of several uploads: what was stored, or the error by which it was rejected."""

    upload: Upload
    stored: IngestResult | None = None
    error: errors.StepwellError | None = None


async def run(
    upload: Upload, user_id: str, services: Services, *, retry_s: float = BULK_RETRY_S, wait: bool = True
) -> IngestResult:
    """Store one document, unless the same is stored already.

    While the database is unavailable, each step is retried for `retry_s` seconds. A large document is stored by a job;
    without `wait` it is only queued.
    Raises BadRequest naming the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """
    draft = await _prepared(upload, services)
    batch = _Batch([(upload, draft)], retry_s=retry_s, wait=wait)
    await batch.find_stored(user_id, db=services.db)
    return await batch.store(draft, user_id, services)


@model_switch.repeated
async def replace(document_id: UUID, upload: Upload, user_id: str, services: Services) -> IngestResult:
    """Store an upload as the new content of a document, a large one by a job that is only queued.

    Raises NotFound, Conflict, and what `run` raises.
    """
    db = services.db
    async with db.reading(user_id) as reading:
        document = await documents.get(reading, user_id, document_id)
        await gazetteers.current(reading, user_id)
    if upload.uri is None and document.uri is not None:
        upload = dataclasses.replace(upload, uri=document.uri)
    draft = await _prepared(upload, services)
    if _is_large(draft):
        return await large_documents.queue(draft, user_id, services, document_id=document_id)
    batch = _Batch([(upload, draft)], retry_s=REQUEST_RETRY_S)
    await batch.embed([draft], user_id, services)
    async with db.writing(user_id) as writing:
        status = await documents.replace(writing, user_id, document_id, draft, vectors_by_key=batch.vectors)
        if status != "unchanged":
            await chunk_vectors.store_target(writing, user_id, document_id, batch.target)
            await mention_extraction.link(writing, user_id, document_id, keys=services.chunking_options.entity_keys)
    return batch.result(document_id, status, draft)


async def many(
    uploads: Iterable[Upload] | AsyncIterable[Upload],
    user_id: str,
    services: Services,
    *,
    retry_s: float = BULK_RETRY_S,
    wait: bool = True,
) -> AsyncGenerator[IngestOutcome, None]:
    """Store several documents in their order, each on its own, while the next ones are embedded together.

    The result is the same as that of storing them one by one, also if a document comes several times.
    While the database is unavailable, each step is retried for `retry_s` seconds. Large documents are stored by jobs;
    without `wait` they are only queued. Raises errors that concern all documents: ProviderError, DatabaseUnavailable.
    Outcomes that were yielded before stay stored.
    """
    ready: asyncio.Queue[_Batch | None] = asyncio.Queue(maxsize=2)

    async def embed_ahead() -> None:
        async for group in _groups(_each(uploads)):
            characters = sum(len(upload.content) for upload in group)
            work = partial(_prepare_all, group, services.embedder.model, services.chunking_options)
            batch = _Batch(await cancellable.run(characters, work), retry_s=retry_s, wait=wait)
            await batch.find_stored(user_id, db=services.db)
            await batch.embed(batch.to_embed(), user_id, services)
            await ready.put(batch)
        await ready.put(None)

    ahead = asyncio.create_task(embed_ahead())
    try:
        while (batch := await _next(ready, ahead)) is not None:
            batch.is_outdated = True
            for upload, draft in batch.uploads:
                if isinstance(draft, errors.BadRequest):
                    yield IngestOutcome(upload, error=draft)
                else:
                    yield IngestOutcome(upload, stored=await batch.store(draft, user_id, services))
    finally:
        ahead.cancel()
        await asyncio.gather(ahead, return_exceptions=True)


async def _prepared(upload: Upload, services: Services) -> DocumentDraft:
    work = partial(_prepare, upload, services.embedder.model, services.chunking_options)
    return await cancellable.run(len(upload.content), work)


def _prepare(
    upload: Upload, model: EmbeddingModel, options: ChunkingOptions, *, check: Callable[[], None]
) -> DocumentDraft:
    """The draft of an upload; that of a large one has no chunks. Raises BadRequest."""
    large_documents.check_length(len(upload.content))
    draft = document_drafts.hashed(document_drafts.clean(upload, check=check))
    return draft if _is_large(draft) else document_drafts.cut(draft, model=model, options=options, check=check)


def _is_large(draft: DocumentDraft) -> bool:
    return len(draft.content) > large_documents.LARGE


@dataclass(slots=True)
class _Batch:
    """Uploads with their drafts or the errors by which they were rejected; missing vectors are computed together.

    Attributes:
        wait: Whether large documents are stored when `store` returns; otherwise they are queued.
        stored: The stored version of each draft that has one, by identity.
        is_outdated: Whether a document was written since `stored` was read.
        vectors: The vectors of the changed drafts by embedding key, as Postgres reads them or as 32-bit floats.
        embedded: The keys whose vectors were computed and that no document has reported as embedded.
        model: The model that computed the vectors.
        target: The vectors of a model that is to replace it.
    """

    uploads: Sequence[tuple[Upload, DocumentDraft | errors.BadRequest]]
    retry_s: float = BULK_RETRY_S
    wait: bool = True
    stored: dict[bytes, documents.StoredVersion] = field(default_factory=dict)
    is_outdated: bool = False
    vectors: dict[UUID, VectorValue] = field(default_factory=dict)
    embedded: set[UUID] = field(default_factory=set)
    model: EmbeddingModel | None = None
    target: TargetVectors = chunk_vectors.NO_TARGET

    def drafts(self) -> list[DocumentDraft]:
        """The drafts of the uploads that were not rejected."""
        return [draft for _upload, draft in self.uploads if isinstance(draft, DocumentDraft)]

    def to_embed(self) -> list[DocumentDraft]:
        """The drafts that differ from the stored versions, or that an earlier one of the same document may replace."""
        versions = Counter(draft.identity for draft in self.drafts())
        return [d for d in self.drafts() if self.unchanged(d) is None or versions[d.identity] > 1]

    async def find_stored(self, user_id: str, *, db: Database) -> None:
        """Look up the stored versions; unchanged documents are neither embedded nor written."""
        identities = [draft.identity for draft in self.drafts()]
        self.stored = await self._retried(_stored_versions, user_id, identities, db=db)
        self.is_outdated = False

    async def embed(self, drafts: Iterable[DocumentDraft], user_id: str, services: Services) -> None:
        """Read or compute the vectors of all chunks of some drafts that are not known yet.

        Raises ProviderError, DatabaseUnavailable, DiskFull.
        """
        work = partial(self._embed, list(drafts), user_id, services)
        await model_switch.run(services.embedder, services.db, work)

    async def _embed(self, drafts: Iterable[DocumentDraft], user_id: str, services: Services) -> None:
        if (model := services.embedder.model) != self.model:
            self.model, self.vectors, self.target = model, {}, chunk_vectors.NO_TARGET
        texts = chunk_vectors.texts(drafts)
        unknown = {key: text for key, text in texts.items() if key not in self.vectors}
        if not unknown:
            return
        await services.db.check_writable()
        known = await self._retried(chunk_vectors.known, unknown, user_id, services)
        found = await chunk_vectors.complete(unknown, known, user_id, services)
        self.vectors.update(found.by_key)
        self.target = self.target.merged(found.target)
        self.embedded.update(found.computed)

    async def store(self, draft: DocumentDraft, user_id: str, services: Services) -> IngestResult:
        """Write one document in one transaction; a retry after a commit of unknown outcome finds it unchanged."""
        return await model_switch.run(services.embedder, services.db, partial(self._store, draft, user_id, services))

    async def _store(self, draft: DocumentDraft, user_id: str, services: Services) -> IngestResult:
        db, keys = services.db, services.chunking_options.entity_keys
        if self.is_outdated and self.unchanged(draft) is not None:
            await self.find_stored(user_id, db=db)
        if (same := self.unchanged(draft)) is not None:
            return self.result(same, "unchanged", draft)
        if _is_large(draft):
            return await self._store_large(draft, user_id, services)
        await self.embed([draft], user_id, services)
        found = ChunkVectors(self.vectors, frozenset(), self.target)
        document_id, status = await self._retried(_put, draft, user_id, found, db=db, keys=keys)
        self.is_outdated = True
        return self.result(document_id, status, draft)

    async def _store_large(self, draft: DocumentDraft, user_id: str, services: Services) -> IngestResult:
        self.is_outdated = True
        queued = await self._retried(large_documents.queue, draft, user_id, services)
        return await large_documents.settle(queued, user_id, services) if self.wait else queued

    def unchanged(self, draft: DocumentDraft) -> UUID | None:
        """The id of the stored document if storing the draft would not change it."""
        known = self.stored.get(draft.identity)
        return known.document_id if known and known.same_as(draft) else None

    def result(self, document_id: UUID, status: Any, draft: DocumentDraft) -> IngestResult:
        """The result of storing a draft; each computed vector is counted once."""
        new = set() if status == "unchanged" else {chunk.embedding_key for chunk in draft.chunks} & self.embedded
        self.embedded -= new
        known = self.stored.get(draft.identity)
        count = len(draft.chunks) or (known.chunk_count if known else 0)
        return IngestResult(document_id, status, draft.uri, draft.title, count, len(new), draft.warnings)

    async def _retried(self, step: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a step, and retry it for `retry_s` seconds while the database is unavailable."""
        max_wait = min(2.0, self.retry_s / 4)
        caller = stamina.AsyncRetryingCaller(
            attempts=None, timeout=self.retry_s, wait_initial=0.1, wait_max=max_wait, wait_jitter=max_wait / 2
        )
        return await caller((errors.DatabaseUnavailable, errors.Busy), step, *args, **kwargs)


async def _each(uploads: Iterable[Upload] | AsyncIterable[Upload]) -> AsyncIterator[Upload]:
    if isinstance(uploads, AsyncIterable):
        async for upload in uploads:
            yield upload
    else:
        for upload in uploads:
            yield upload


async def _groups(uploads: AsyncIterable[Upload]) -> AsyncIterator[list[Upload]]:
    """The uploads in groups of about BATCH_CHARACTERS."""
    group: list[Upload] = []
    characters = 0
    async for upload in uploads:
        group.append(upload)
        characters += max(len(upload.content), MIN_DOCUMENT_CHARACTERS)
        if characters >= BATCH_CHARACTERS:
            yield group
            group, characters = [], 0
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


async def _next(ready: asyncio.Queue[_Batch | None], ahead: asyncio.Task[None]) -> _Batch | None:
    """The next batch, None after the last. Raises the exception of the task that prepares them."""
    getting = asyncio.ensure_future(ready.get())
    await asyncio.wait({getting, ahead}, return_when=asyncio.FIRST_COMPLETED)
    if not getting.done() and ahead.exception() is not None:
        getting.cancel()
        await ahead
    return await getting


async def _stored_versions(
    user_id: str, identities: list[bytes], *, db: Database
) -> dict[bytes, documents.StoredVersion]:
    async with db.reading(user_id) as reading:
        await gazetteers.current(reading, user_id)
        return await documents.find_many(reading, user_id, identities=identities)


async def _put(
    draft: DocumentDraft,
    user_id: str,
    found: ChunkVectors,
    *,
    db: Database,
    keys: Sequence[str],
) -> tuple[UUID, Any]:
    async with db.writing(user_id) as writing:
        document_id, status = await documents.put(writing, user_id, draft, vectors_by_key=found.by_key)
        if status != "unchanged":
            await chunk_vectors.store_target(writing, user_id, document_id, found.target)
            await mention_extraction.link(writing, user_id, document_id, keys=keys)
    return document_id, status
