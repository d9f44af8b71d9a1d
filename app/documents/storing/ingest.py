"""Stores uploads as documents: drafts, embeds and writes them in batches, each step ahead of the next one.

No transaction is open while the model computes vectors. An upload that is cancelled before its write stores nothing.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from app import errors
from app.concurrency import offload
from app.database import retries
from app.documents.store import document_puts, documents
from app.documents.store.document_puts import StoredVersion
from app.documents.store.document_rows import PutDocument
from app.documents.storing import document_drafts, document_writes, large_documents
from app.documents.storing.document_writes import ChunkVectors
from app.documents.types import DocumentDraft, IngestResult, Upload
from app.entities.linking import gazetteer_cache
from app.models.protocols import EmbeddingModel
from app.query import model_replacement
from app.services import ChunkingOptions, Services

Item = TypeVar("Item")
Result = TypeVar("Result")
BATCH_CHARACTERS = 76_800
"""Characters of the documents that are embedded together: about 128 chunks. The model sorts a batch by length, so in a
larger batch it pads short texts less."""
FIRST_CHARACTERS = 9_600
"""Characters of the first batch: few, so that the model begins early. Each next batch has up to twice as many."""
MIN_DOCUMENT_CHARACTERS = 400
"""For the size of a batch, a shorter document counts as this many characters."""
MOST_WRITTEN, MOST_CHUNKS = 64, 128
"""Most documents that one transaction writes, and most old and new chunks of several documents together."""


@dataclass(frozen=True, slots=True)
class StoringOptions:
    """How documents are stored.

    Attributes:
        retry_s: For how long each step is repeated while the database is unavailable.
        wait: Whether to wait for the job of a large document and return its result, or only queue the job.
        most_chunks: Most chunks of the documents of one call together. The documents beyond are queued as well.
    """

    retry_s: float = 15.0
    wait: bool = True
    most_chunks: float = math.inf


IN_BULK, IN_JOB = StoringOptions(), StoringOptions(wait=False)
IN_TOOL = StoringOptions(retry_s=1.0)
IN_REQUEST = StoringOptions(retry_s=1.0, wait=False, most_chunks=large_documents.MANY_CHUNKS)


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """The outcome of one of several uploads: its result, or the error that rejected it."""

    upload: Upload
    stored: IngestResult | None = None
    error: errors.StepwellError | None = None

    def result(self) -> IngestResult:
        """The result. Raises the error that rejected the upload."""
        if self.error is not None:
            raise self.error
        assert self.stored is not None
        return self.stored


async def store(
    uploads: Iterable[Upload] | AsyncIterable[Upload],
    user_id: str,
    services: Services,
    options: StoringOptions = IN_BULK,
) -> AsyncGenerator[IngestOutcome, None]:
    """Store several documents in order. Each is stored or rejected on its own.

    While a batch is written, the next one is embedded, and the one after that is read and drafted.

    The result is the same as if they were stored one by one, even if a document comes several times. A job later
    finds new names from metadata in the earlier texts. Jobs store large documents. Raises errors that concern all
    documents: ProviderError, DatabaseUnavailable, Busy. Outcomes that were yielded before stay stored.
    """
    steps = _Steps(user_id, services, options)
    embedded = _work_ahead(_work_ahead(_batches(_each(uploads)), steps.draft), steps.embed)
    async with aclosing(embedded):
        async for batch in embedded:
            place = 0
            while place < len(batch.uploads):
                for result in await steps.store(batch, place):
                    upload, place = batch.uploads[place][0], place + 1
                    if isinstance(result, IngestResult):
                        yield IngestOutcome(upload, stored=result)
                    else:
                        yield IngestOutcome(upload, error=result)


async def store_one(
    upload: Upload, user_id: str, services: Services, options: StoringOptions = IN_BULK
) -> IngestResult:
    """Store one document, unless an equal one is stored already. A job stores a large document.

    Raises BadRequest with the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """
    async with aclosing(store([upload], user_id, services, options)) as outcomes:
        return (await anext(outcomes)).result()


async def replace(document_id: UUID, upload: Upload, user_id: str, services: Services) -> IngestResult:
    """Store an upload as the new content of a document. For a large upload a job is queued.

    Raises NotFound, Conflict, BadRequest with the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """
    work = partial(_replace, document_id, upload, user_id, services)
    return await model_replacement.run(services.embedder, services.db, work)


async def _replace(document_id: UUID, upload: Upload, user_id: str, services: Services) -> IngestResult:
    async with large_documents.reading_stored(document_id, user_id, services) as reading:
        document = await documents.get(reading, document_id)
        await gazetteer_cache.current(reading)
    if upload.uri is None:
        upload = dataclasses.replace(upload, uri=document.uri)
    cut = partial(_draft, upload, services.embedder.model, services.chunking_options)
    draft = await offload.run_stoppable(len(upload.content), cut)
    if draft.is_large:
        return await large_documents.queue(draft, user_id, services, document_id=document_id)
    found = await document_writes.find_vectors(document_writes.texts([draft]), user_id, services)
    async with services.db.writing(user_id, checked=True) as writing:
        (put,) = await document_writes.put(writing, [draft], found, services.chunking_options, document_id=document_id)
    embedded = 0 if put.status == "unchanged" else len(found.computed)
    return IngestResult.of(draft, document_id, put.status, chunk_count=len(draft.chunks), embedded=embedded)


def _draft(upload: Upload, model: EmbeddingModel, options: ChunkingOptions) -> DocumentDraft:
    """The draft of an upload. The draft of a large upload has no chunks. Raises BadRequest."""
    large_documents.check_length(len(upload.content))
    hashed = document_drafts.hash_document(document_drafts.clean(upload, language=options.language))
    return large_documents.cut_unless_large(hashed, model=model, options=options)


_Drafted = tuple[Upload, DocumentDraft | errors.BadRequest]


def _draft_each(uploads: Sequence[Upload], model: EmbeddingModel, options: ChunkingOptions) -> list[_Drafted]:
    drafted: list[_Drafted] = []
    for upload in uploads:
        try:
            drafted.append((upload, _draft(upload, model, options)))
        except errors.BadRequest as error:
            drafted.append((upload, error))
    return drafted


@dataclass(slots=True)
class _Batch:
    """Uploads that are embedded together, each with its draft or the error that rejected it.

    Attributes:
        stored: The stored version of each draft that has one, by identity.
        being_stored: The ids of the documents that a job will store in another version.
        writes: How many writes of this call had ended when `stored` and `being_stored` were read.
        model: The model that computed the vectors.
        uncounted: The keys of computed vectors that no document has counted.
    """

    uploads: list[_Drafted]
    stored: dict[bytes, StoredVersion] = field(default_factory=dict)
    being_stored: Set[UUID] = frozenset()
    writes: int = 0
    model: EmbeddingModel | None = None
    vectors: ChunkVectors = document_writes.NONE
    uncounted: set[UUID] = field(default_factory=set)

    def drafts(self) -> list[DocumentDraft]:
        """The drafts of the uploads that were not rejected."""
        return [draft for _upload, draft in self.uploads if isinstance(draft, DocumentDraft)]

    def same(self, draft: DocumentDraft) -> StoredVersion | None:
        """The stored version of a draft, if storing the draft would not change it."""
        known = self.stored.get(draft.identity)
        return known if known and known.same_as(draft) and known.document_id not in self.being_stored else None

    def together(self, place: int, most: int) -> list[DocumentDraft]:
        """The drafts from a place on that one transaction writes: consecutive ones of different documents that changed.

        Empty if the first draft is large.
        """
        found: dict[bytes, DocumentDraft] = {}
        chunks = 0
        for _upload, draft in self.uploads[place : place + most]:
            if not isinstance(draft, DocumentDraft) or draft.is_large:
                break
            replaced = self.stored.get(draft.identity)
            chunks += len(draft.chunks) + (replaced.chunk_count if replaced else 0)
            if found and (draft.identity in found or self.same(draft) or chunks > MOST_CHUNKS):
                break
            found[draft.identity] = draft
        return list(found.values())

    def note(self, put: PutDocument) -> IngestResult:
        """Notes a written draft as the stored version, and returns its result. Each computed vector counts once."""
        draft, chunk_count = put.draft, len(put.draft.chunks)
        self.stored[draft.identity] = StoredVersion(
            put.document_id, draft.content_hash, draft.attributes_hash, chunk_count
        )
        new = {chunk.embedding_key for chunk in draft.chunks} & self.uncounted if put.status != "unchanged" else set()
        self.uncounted -= new
        return IngestResult.of(draft, put.document_id, put.status, chunk_count=chunk_count, embedded=len(new))


@dataclass(slots=True)
class _Steps:
    """The steps of storing batches.

    Attributes:
        most: Most documents that the next transaction writes.
        writes: How many writes have ended.
        chunks: The number of chunks of the changed documents so far, without queued documents.
    """

    user_id: str
    services: Services
    options: StoringOptions
    most: int = MOST_WRITTEN
    writes: int = 0
    chunks: int = 0

    async def draft(self, uploads: Sequence[Upload]) -> _Batch:
        """Clean, hash and cut some uploads. A rejected upload keeps its error."""
        work = partial(_draft_each, uploads, self.services.embedder.model, self.services.chunking_options)
        return _Batch(await offload.run_stoppable(sum(len(upload.content) for upload in uploads), work))

    async def embed(self, batch: _Batch) -> _Batch:
        """Look up the stored versions, and read or compute the vectors of the documents that have changed."""
        await self._look_up(batch)
        self._leave_to_jobs(batch)
        await self._run(self._find_vectors, [one for one in batch.drafts() if batch.same(one) is None], batch)
        return batch

    async def store(self, batch: _Batch, place: int) -> list[IngestResult | errors.StepwellError]:
        """Store together some uploads from a place on. The result of a rejected upload is its error."""
        _upload, draft = batch.uploads[place]
        if isinstance(draft, errors.BadRequest):
            return [draft]
        if batch.same(draft) is not None and batch.writes != self.writes:
            await self._look_up(batch)
        if (same := batch.same(draft)) is not None:
            return [IngestResult.of(draft, same.document_id, "unchanged", chunk_count=same.chunk_count)]
        drafts = batch.together(place, self.most)
        try:
            if not drafts:
                return [await self._store_large(draft)]
            return [batch.note(put) for put in await self._run(self._put, drafts, batch)]
        except (errors.DatabaseUnavailable, errors.Busy, errors.ProviderError):
            raise
        except Exception as error:
            if len(drafts) > 1:  # one by one, so that the documents before the failing one are stored
                self.most = 1
                return await self.store(batch, place)
            if isinstance(error, errors.OutsideOfKey):
                return [error]
            raise
        finally:
            self.writes += 1  # not before: a batch that is looked up during a write sees the versions before it

    async def _run(
        self,
        step: Callable[[Sequence[DocumentDraft], _Batch], Awaitable[Result]],
        drafts: Sequence[DocumentDraft],
        batch: _Batch,
    ) -> Result:
        """Runs a step with one model. It is repeated while the database is unavailable."""
        work = partial(retries.while_unavailable, self.options.retry_s, step, drafts, batch)
        return await model_replacement.run(self.services.embedder, self.services.db, work)

    async def _store_large(self, draft: DocumentDraft) -> IngestResult:
        queue = partial(large_documents.queue, draft, self.user_id, self.services)
        queued = await retries.while_unavailable(self.options.retry_s, queue)
        if not self.options.wait:
            return queued
        return await large_documents.settle(queued, self.user_id, self.services, retry_s=self.options.retry_s)

    async def _look_up(self, batch: _Batch) -> None:
        """Look up the stored versions. Unchanged documents are neither embedded nor written."""
        batch.writes = self.writes
        if drafts := batch.drafts():
            await retries.while_unavailable(self.options.retry_s, self._look_up_versions, drafts, batch)

    async def _look_up_versions(self, drafts: Sequence[DocumentDraft], batch: _Batch) -> None:
        async with self.services.db.reading(self.user_id) as reading:
            await gazetteer_cache.current(reading)
            batch.stored = await document_puts.find_many(reading, identities=[draft.identity for draft in drafts])
        batch.being_stored = frozenset()
        if same := [known for draft in drafts if (known := batch.same(draft)) is not None]:
            batch.being_stored = await large_documents.being_stored(same, self.user_id, self.services)

    def _leave_to_jobs(self, batch: _Batch) -> None:
        """Treat changed documents as large ones if the chunks so far and theirs are too many for one call."""
        for place, (upload, draft) in enumerate(batch.uploads):
            if isinstance(draft, DocumentDraft) and batch.same(draft) is None:
                if self.chunks + len(draft.chunks) > self.options.most_chunks:
                    batch.uploads[place] = upload, dataclasses.replace(draft, chunks=())
                else:
                    self.chunks += len(draft.chunks)

    async def _find_vectors(self, drafts: Sequence[DocumentDraft], batch: _Batch) -> None:
        """Read or compute the vectors that a batch lacks. Vectors of a replaced model do not count."""
        model = self.services.embedder.model
        known = batch.vectors if batch.model == model else document_writes.NONE
        if missing := document_writes.texts(drafts, besides=known.by_key):
            found = await document_writes.find_vectors(missing, self.user_id, self.services)
            batch.model, batch.vectors = model, known.join(found)
            batch.uncounted |= found.computed

    async def _put(self, drafts: Sequence[DocumentDraft], batch: _Batch) -> list[PutDocument]:
        """Write documents in one transaction. A retry after a commit of unknown outcome finds them unchanged."""
        await self._find_vectors(drafts, batch)
        async with self.services.db.writing(self.user_id, checked=True) as writing:
            return await document_writes.put(writing, drafts, batch.vectors, self.services.chunking_options)


async def _each(uploads: Iterable[Upload] | AsyncIterable[Upload]) -> AsyncIterator[Upload]:
    if isinstance(uploads, AsyncIterable):
        async for upload in uploads:
            yield upload
    else:
        for upload in uploads:
            yield upload


async def _batches(uploads: AsyncIterable[Upload]) -> AsyncGenerator[list[Upload], None]:
    """The uploads in groups that grow to about BATCH_CHARACTERS."""
    batch: list[Upload] = []
    characters, most = 0, min(FIRST_CHARACTERS, BATCH_CHARACTERS)
    async for upload in uploads:
        batch.append(upload)
        characters += max(len(upload.content), MIN_DOCUMENT_CHARACTERS)
        if characters >= most:
            yield batch
            batch, characters, most = [], 0, min(2 * most, BATCH_CHARACTERS)
    if batch:
        yield batch


async def _work_ahead(
    items: AsyncGenerator[Item, None], step: Callable[[Item], Awaitable[Result]]
) -> AsyncGenerator[Result, None]:
    """The result of a step for each item. The next result is computed while the caller uses one.

    Closing it cancels the step in progress.
    """

    async def advance() -> Result:
        return await step(await anext(items))

    async with aclosing(items):
        making = asyncio.create_task(advance())
        try:
            while True:
                made = await making
                making = asyncio.create_task(advance())
                yield made
        except StopAsyncIteration:
            return
        finally:
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
