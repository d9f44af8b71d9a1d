"""Stores a batch of uploads: missing vectors are computed together, and new documents are written together.

Documents that nobody has stored before are written in transactions of several documents, as many as can be written
while the user's other writes hardly wait; a document that replaces another one has a transaction of its own. None is
open while the model computes vectors.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

import stamina

from app import errors
from app.pipelines.documents import chunk_vectors, large_documents
from app.pipelines.documents.chunk_vectors import ChunkVectors, KnownVectors, TargetVectors
from app.pipelines.linking import gazetteers, llm_entities, mention_extraction
from app.pipelines.running import model_switch
from app.pipelines.running.chunking_options import ChunkingOptions
from app.pipelines.running.services import Services
from app.providers.base import EmbeddingModel
from app.shapes import DocumentDraft, IngestResult, Upload
from app.store.connection.transactions import Database
from app.store.documents import document_puts, documents
from app.store.documents.document_puts import PutDocument
from app.store.documents.document_rows import VectorValue
from app.store.documents.documents import StoredVersion
from app.text.names import names

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
BULK_RETRY_S = 15.0
"""How long a step is retried while the database is unavailable, by default."""
FIRST_WRITTEN, FEWEST_WRITTEN, MOST_WRITTEN = 16, 8, 128
"""Documents that the first transaction writes, and the bounds of their number in later ones."""
MOST_CHUNKS = 128
"""Chunks of several documents that are written by one transaction."""
SHORT_S, LONG_S = 0.2, 0.5
"""Durations of a transaction below which the next one writes more documents, and above which it writes fewer."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """The result of one of several uploads: what was stored, or the error by which it was rejected."""

    upload: Upload
    stored: IngestResult | None = None
    error: errors.StepwellError | None = None


@dataclass(slots=True)
class WritePace:
    """How many documents the next transaction writes, because the user's other writes wait for it."""

    documents: int = FIRST_WRITTEN

    def note(self, written: int, seconds: float) -> None:
        """Adapt to the duration of a transaction that has written some documents."""
        if seconds > LONG_S:
            self.documents = max(FEWEST_WRITTEN, min(self.documents, written) // 2)
        elif seconds < SHORT_S and written >= self.documents:
            self.documents = min(MOST_WRITTEN, 2 * self.documents)


def is_large(draft: DocumentDraft) -> bool:
    """Whether a job stores the document."""
    return len(draft.content) > large_documents.LARGE


@dataclass(slots=True)
class UploadBatch:
    """Uploads with their drafts or the errors by which they were rejected.

    Attributes:
        wait: Whether large documents are stored when `store` returns; otherwise they are queued.
        pace: How many documents a transaction writes.
        stored: The stored version of each draft that has one, by identity.
        is_outdated: Whether a document was written since `stored` was read.
        vectors: The vectors of the changed drafts by embedding key, as Postgres reads them or as 32-bit floats.
        embedded: The keys whose vectors were computed and that no document has reported as embedded.
        model: The model that computed the vectors.
        target: The vectors of a model that is to replace it.
        known: The stored vectors that were looked up for the next call of `embed`, by the model that computed them.
    """

    uploads: Sequence[tuple[Upload, DocumentDraft | errors.BadRequest]]
    retry_s: float = BULK_RETRY_S
    wait: bool = True
    pace: WritePace = field(default_factory=WritePace)
    stored: dict[bytes, StoredVersion] = field(default_factory=dict)
    is_outdated: bool = False
    vectors: dict[UUID, VectorValue] = field(default_factory=dict)
    embedded: set[UUID] = field(default_factory=set)
    model: EmbeddingModel | None = None
    target: TargetVectors = chunk_vectors.NO_TARGET
    known: dict[EmbeddingModel, KnownVectors] = field(default_factory=dict)

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

    async def find_known(self, user_id: str, services: Services) -> None:
        """Look up the stored versions, and the vectors that `embed` need not compute. Raises DatabaseUnavailable."""
        await self.find_stored(user_id, db=services.db)
        texts = chunk_vectors.texts(self.to_embed())
        if texts:
            await model_switch.run(services.embedder, services.db, partial(self._find_known, texts, user_id, services))

    async def _find_known(self, texts: Mapping[UUID, str], user_id: str, services: Services) -> None:
        found = await self._retried(chunk_vectors.known, texts, user_id, services)
        self.known[services.embedder.model] = found

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
        if model not in self.known:
            await self._find_known(unknown, user_id, services)
        found = await chunk_vectors.complete(unknown, self.known.pop(model), user_id, services)
        self.vectors.update(found.by_key)
        self.target = self.target.merged(found.target)
        self.embedded.update(found.computed)

    async def outcomes(self, user_id: str, services: Services) -> AsyncGenerator[IngestOutcome, None]:
        """Store the documents in their order; the result is the same as that of storing them one by one."""
        if self.is_outdated:  # documents that replace others are not written together
            await self.find_stored(user_id, db=services.db)
        place = 0
        while place < len(self.uploads):
            results = await self._store_together(self._new_from(place), user_id, services)
            if not results:
                upload, draft = self.uploads[place]
                if isinstance(draft, errors.BadRequest):
                    yield IngestOutcome(upload, error=draft)
                else:
                    yield IngestOutcome(upload, stored=await self.store(draft, user_id, services))
                place += 1
            for stored in results:
                yield IngestOutcome(self.uploads[place][0], stored=stored)
                place += 1

    def _new_from(self, place: int) -> list[DocumentDraft]:
        """The consecutive new documents from a place on that one transaction writes."""
        found: dict[bytes, DocumentDraft] = {}
        chunks = 0
        for _upload, draft in self.uploads[place : place + self.pace.documents]:
            if not isinstance(draft, DocumentDraft) or is_large(draft):
                break
            chunks += len(draft.chunks)
            if draft.identity in self.stored or draft.identity in found or chunks > MOST_CHUNKS:
                break
            found[draft.identity] = draft
        return list(found.values())

    async def _store_together(
        self, drafts: Sequence[DocumentDraft], user_id: str, services: Services
    ) -> list[IngestResult]:
        """Write several documents in one transaction; nothing if there are fewer than two, or if one of them fails.

        They are then stored one by one, so that those before the one that fails are stored.
        """
        if len(drafts) < 2:
            return []
        try:
            work = partial(self._write, drafts, user_id, services)
            return await model_switch.run(services.embedder, services.db, work)
        except (errors.DatabaseUnavailable, errors.Busy, errors.ProviderError):
            raise
        except Exception as error:
            log.info("documents are stored one by one: %s", type(error).__name__, extra={"action": "stored_singly"})
            self.pace.documents = 1
            return []

    async def store(self, draft: DocumentDraft, user_id: str, services: Services) -> IngestResult:
        """Write one document in one transaction; a retry after a commit of unknown outcome finds it unchanged."""
        return await model_switch.run(services.embedder, services.db, partial(self._store, draft, user_id, services))

    async def _store(self, draft: DocumentDraft, user_id: str, services: Services) -> IngestResult:
        if self.is_outdated and self.unchanged(draft) is not None:
            await self.find_stored(user_id, db=services.db)
        if (same := self.unchanged(draft)) is not None:
            return self.result(same, "unchanged", draft)
        if is_large(draft):
            return await self._store_large(draft, user_id, services)
        return (await self._write([draft], user_id, services))[0]

    async def _write(self, drafts: Sequence[DocumentDraft], user_id: str, services: Services) -> list[IngestResult]:
        await self.embed(drafts, user_id, services)
        found = ChunkVectors(self.vectors, frozenset(), self.target)
        options = services.chunking_options
        written, seconds = await self._retried(_put, drafts, user_id, found, db=services.db, options=options)
        self.pace.note(len(drafts), seconds)
        self.is_outdated = True
        results = [self.result(put.document_id, put.status, put.draft) for put in written]
        for one, result in zip(written, results, strict=True):
            hashes = (one.draft.content_hash, one.draft.attributes_hash)
            self.stored[one.draft.identity] = StoredVersion(one.document_id, *hashes, result.chunk_count)
        return results

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


async def _stored_versions(user_id: str, identities: list[bytes], *, db: Database) -> dict[bytes, StoredVersion]:
    async with db.reading(user_id) as reading:
        await gazetteers.current(reading)
        return await documents.find_many(reading, identities=identities)


async def _put(
    drafts: Sequence[DocumentDraft],
    user_id: str,
    found: ChunkVectors,
    *,
    db: Database,
    options: ChunkingOptions,
) -> tuple[list[PutDocument], float]:
    """Store drafts in one transaction; returns what was stored, and the duration of the transaction."""
    async with db.writing(user_id) as writing:
        began = time.monotonic()
        stored = await document_puts.put(writing, drafts, vectors_by_key=found.by_key, names_version=names.VERSION)
        written = [put for put in stored if put.status != "unchanged"]
        if written:
            await chunk_vectors.store_target(writing, [put.document_id for put in written], found.target)
            linked = [mention_extraction.put_document(put) for put in written]
            await mention_extraction.link_all(writing, linked, keys=options.entity_keys)
            await llm_entities.enqueue(writing, [put.document_id for put in written], options)
    return stored, time.monotonic() - began
