"""Stores uploads, several in batches, and overlaps the steps of storing them.

Documents that nobody has stored before are written in transactions of several documents, as many as can be written
while the user's other writes hardly wait; a document that replaces another one has a transaction of its own.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
    Set,
)
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from app import errors
from app.concurrency import cancellable, retries, stage_times
from app.documents.store.document_puts import PutDocument
from app.documents.store.documents import StoredVersion
from app.documents.storing import document_writes, ingest, large_documents, overlap
from app.documents.storing.chunk_vectors import ChunkVectors, DraftVectors
from app.documents.storing.ingest import IN_BULK, StoringOptions
from app.documents.storing.pace import Pace
from app.documents.types import DocumentDraft, IngestResult, Upload
from app.models.base import EmbeddingModel
from app.query import model_switch
from app.services import ChunkingOptions, Services

log = logging.getLogger(__name__)

T = TypeVar("T")
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
FIRST_WRITTEN, FEWEST_WRITTEN, MOST_WRITTEN = 16, 8, 128
"""Documents that the first transaction writes, and the bounds of their number in later ones."""
MOST_CHUNKS = 128
"""Chunks of several documents that are written by one transaction."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """The result of one of several uploads: what was stored, or the error by which it was rejected."""

    upload: Upload
    stored: IngestResult | None = None
    error: errors.StepwellError | None = None

    def result(self) -> IngestResult:
        """What was stored. Raises the error by which the upload was rejected."""
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
    """Store several documents in their order, each stored or rejected on its own.

    While a batch is written, the next ones are embedded, and those after them drafted and looked up, so that the model
    need not wait.

    The result is the same as that of storing them one by one, also if a document comes several times, once new names in
    metadata have been matched in the texts before them, which a job does.
    Large documents are stored by jobs. Raises errors that concern all documents: ProviderError, DatabaseUnavailable.
    Outcomes that were yielded before stay stored.
    """
    steps = _Steps(user_id, services, options)
    read = _groups(_each(uploads))
    drafted = overlap.each(read, steps.draft)
    compared = overlap.each(drafted, steps.look_up_versions)
    looked_up = overlap.ahead(overlap.each(compared, steps.look_up_vectors))
    embedded = overlap.ahead(overlap.several(looked_up, steps.find_vectors, at_once=EMBEDDED_AT_ONCE))
    is_first = True
    async with aclosing(embedded):
        async for batch in embedded:
            if not is_first:  # the versions may have changed while the batches before were stored
                await steps.look_up_versions(batch)
            is_first = False
            async with aclosing(steps.write(batch)) as outcomes:
                async for outcome in outcomes:
                    yield outcome


async def store_one(
    upload: Upload, user_id: str, services: Services, options: StoringOptions = IN_BULK
) -> IngestResult:
    """Store one document, unless the same is stored already; a large one by a job.

    Raises BadRequest naming the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """

    async def stored() -> IngestResult:
        async with aclosing(store([upload], user_id, services, options)) as outcomes:
            return (await anext(outcomes)).result()

    return await model_switch.run(services.embedder, services.db, stored)


_Drafted = tuple[Upload, DocumentDraft | errors.BadRequest]


@dataclass(slots=True)
class Batch:
    """Uploads that are stored together, each with its draft or the error by which it was rejected.

    Attributes:
        vectors: The vectors of the chunks of the drafts.
        stored: The stored version of each draft that has one, by identity.
        being_stored: The ids of the documents of which jobs are to store another version.
        is_outdated: Whether a document was written since `stored` was read.
    """

    uploads: Sequence[_Drafted]
    vectors: DraftVectors
    stored: dict[bytes, StoredVersion] = field(default_factory=dict)
    being_stored: Set[UUID] = frozenset()
    is_outdated: bool = False

    def drafts(self) -> list[DocumentDraft]:
        """The drafts of the uploads that were not rejected."""
        return [draft for _upload, draft in self.uploads if isinstance(draft, DocumentDraft)]

    def to_embed(self) -> list[DocumentDraft]:
        """The drafts that differ from the stored versions, or that an earlier one of the same document may replace."""
        versions = Counter(draft.identity for draft in self.drafts())
        return [d for d in self.drafts() if self.same(d) is None or versions[d.identity] > 1]

    def same(self, draft: DocumentDraft) -> StoredVersion | None:
        """The stored version of a document if storing the draft would not change it."""
        known = self.stored.get(draft.identity)
        return known if known and known.same_as(draft) and known.document_id not in self.being_stored else None

    def leave_to_jobs(self, drafts: Sequence[DocumentDraft]) -> None:
        """Mark drafts as large documents, which jobs store."""
        left = {id(draft) for draft in drafts}
        self.uploads = [
            (upload, large_documents.uncut(draft) if isinstance(draft, DocumentDraft) and id(draft) in left else draft)
            for upload, draft in self.uploads
        ]

    def new_from(self, place: int, most: int) -> list[DocumentDraft]:
        """The consecutive new documents from a place on that one transaction writes."""
        found: dict[bytes, DocumentDraft] = {}
        chunks = 0
        for _upload, draft in self.uploads[place : place + most]:
            if not isinstance(draft, DocumentDraft) or large_documents.is_large(draft):
                break
            chunks += len(draft.chunks)
            if draft.identity in self.stored or draft.identity in found or chunks > MOST_CHUNKS:
                break
            found[draft.identity] = draft
        return list(found.values())

    def note(self, put: PutDocument) -> IngestResult:
        """The result of writing a draft, which is the stored version now; each computed vector is counted once."""
        draft, chunk_count = put.draft, len(put.draft.chunks)
        self.is_outdated = True
        self.stored[draft.identity] = StoredVersion(
            put.document_id, draft.content_hash, draft.attributes_hash, chunk_count
        )
        embedded = 0 if put.status == "unchanged" else self.vectors.count(draft)
        return IngestResult.of(draft, put.document_id, put.status, chunk_count=chunk_count, embedded=embedded)


@dataclass(slots=True)
class _Steps:
    """The steps of storing a batch.

    Attributes:
        pace: The number of documents that the next transaction writes.
        chunks: The number of chunks of the documents so far that differ from the stored ones and are not queued.
    """

    user_id: str
    services: Services
    options: StoringOptions
    pace: Pace = field(default_factory=lambda: Pace(FIRST_WRITTEN, FEWEST_WRITTEN, MOST_WRITTEN))
    chunks: int = 0

    async def draft(self, uploads: Sequence[Upload]) -> Batch:
        """Clean, hash and cut some uploads; one that is rejected keeps its error."""
        work = partial(_draft_each, uploads, self.services.embedder.model, self.services.chunking_options)
        with stage_times.stage("cutting"):
            drafted = await cancellable.run(sum(len(upload.content) for upload in uploads), work)
        return Batch(drafted, DraftVectors(self.user_id, self.services, self.options.retry_s))

    async def look_up_versions(self, batch: Batch) -> Batch:
        """Look up the stored versions; unchanged documents are neither embedded nor written."""
        with stage_times.stage("database"):
            await retries.while_unavailable(self.options.retry_s, self._look_up_versions, batch)
        return batch

    async def _look_up_versions(self, batch: Batch) -> None:
        if drafts := batch.drafts():
            batch.stored = await ingest.stored_versions(drafts, self.user_id, self.services)
            batch.being_stored = frozenset()
            same = [known for draft in batch.drafts() if (known := batch.same(draft)) is not None]
            batch.being_stored = await large_documents.being_stored(same, self.user_id, self.services)
        batch.is_outdated = False

    async def look_up_vectors(self, batch: Batch) -> Batch:
        """Look up the vectors that need not be computed, so that the model does not wait for the database."""
        batch.leave_to_jobs([draft for draft in batch.to_embed() if self._exceeds(draft)])
        with stage_times.stage("database"):
            await batch.vectors.look_up(batch.to_embed())
        return batch

    def _exceeds(self, draft: DocumentDraft) -> bool:
        """Whether the chunks of a document are too many for one call, with those counted before; else they count."""
        chunks = self.chunks + len(draft.chunks)
        if self.options.most_chunks is not None and chunks > self.options.most_chunks:
            return True
        self.chunks = chunks
        return False

    async def find_vectors(self, batch: Batch) -> Batch:
        """Compute the other vectors."""
        with stage_times.stage("model"):
            await batch.vectors.find(batch.to_embed())
        return batch

    async def write(self, batch: Batch) -> AsyncGenerator[IngestOutcome, None]:
        """Write the documents in their order, with their links and the jobs that follow."""
        place = 0
        while place < len(batch.uploads):
            results = await self._write_together(batch.new_from(place, self.pace.size), batch)
            if not results:
                upload, draft = batch.uploads[place]
                yield await self._stored_alone(upload, draft, batch)
                place += 1
            for stored in results:
                yield IngestOutcome(batch.uploads[place][0], stored=stored)
                place += 1

    async def _stored_alone(
        self, upload: Upload, draft: DocumentDraft | errors.BadRequest, batch: Batch
    ) -> IngestOutcome:
        """The outcome of storing one document; a rejected one does not stop the others."""
        if isinstance(draft, errors.BadRequest):
            return IngestOutcome(upload, error=draft)
        try:
            return IngestOutcome(upload, stored=await self._with_one_model(partial(self._store, draft, batch)))
        except errors.OutsideOfKey as error:
            return IngestOutcome(upload, error=error)

    async def _write_together(self, drafts: Sequence[DocumentDraft], batch: Batch) -> list[IngestResult]:
        """Write several documents in one transaction; nothing if there are fewer than two, or if one of them fails.

        They are then stored one by one, so that those before the one that fails are stored.
        """
        if len(drafts) < 2:
            return []
        try:
            return await self._with_one_model(partial(self._write, drafts, batch))
        except (errors.DatabaseUnavailable, errors.Busy, errors.ProviderError):
            raise
        except Exception as error:
            log.info("documents are stored one by one: %s", type(error).__name__, extra={"action": "stored_singly"})
            self.pace.size = 1
            return []

    async def _store(self, draft: DocumentDraft, batch: Batch) -> IngestResult:
        """Store one document; a repetition after a commit of unknown outcome finds it unchanged."""
        if batch.is_outdated and batch.same(draft) is not None:
            await self.look_up_versions(batch)
        if (same := batch.same(draft)) is not None:
            chunk_count = len(draft.chunks) or same.chunk_count
            return IngestResult.of(draft, same.document_id, "unchanged", chunk_count=chunk_count)
        if large_documents.is_large(draft):
            return await self._store_large(draft, batch)
        return (await self._write([draft], batch))[0]

    async def _store_large(self, draft: DocumentDraft, batch: Batch) -> IngestResult:
        batch.is_outdated = True
        retry_s, wait = self.options.retry_s, self.options.wait
        return await large_documents.store(draft, self.user_id, self.services, retry_s=retry_s, wait=wait)

    async def _write(self, drafts: Sequence[DocumentDraft], batch: Batch) -> list[IngestResult]:
        found = await batch.vectors.find(drafts)
        with stage_times.stage("database"):
            stored = await retries.while_unavailable(self.options.retry_s, self._put, drafts, found)
        return [batch.note(put) for put in stored]

    async def _put(self, drafts: Sequence[DocumentDraft], found: ChunkVectors) -> list[PutDocument]:
        async with self.services.db.writing(self.user_id, checked=True) as writing:
            began = time.monotonic()
            stored = await document_writes.put(writing, drafts, found, self.services.chunking_options)
            seconds = time.monotonic() - began
        self.pace.note(len(drafts), seconds)
        return stored

    async def _with_one_model(self, work: Callable[[], Awaitable[T]]) -> T:
        return await model_switch.run(self.services.embedder, self.services.db, work)


def _draft_each(uploads: Sequence[Upload], model: EmbeddingModel, options: ChunkingOptions) -> list[_Drafted]:
    drafted: list[_Drafted] = []
    for upload in uploads:
        try:
            drafted.append((upload, ingest.make_draft(upload, model, options)))
        except errors.BadRequest as error:
            drafted.append((upload, error))
    return drafted


async def _each(uploads: Iterable[Upload] | AsyncIterable[Upload]) -> AsyncIterator[Upload]:
    if isinstance(uploads, AsyncIterable):
        async for upload in uploads:
            yield upload
    else:
        for upload in uploads:
            yield upload


async def _groups(uploads: AsyncIterable[Upload]) -> AsyncGenerator[list[Upload], None]:
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
