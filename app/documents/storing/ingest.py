"""Drafts uploads, looks up what is stored, and stores an upload as the new content of a document.

No transaction is open while the model computes vectors. A cancelled upload stores nothing. `batches` stores documents
as those with their identities.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from app import errors
from app.concurrency import cancellable
from app.documents.store import documents
from app.documents.store.documents import StoredVersion
from app.documents.storing import document_drafts, document_writes, large_documents
from app.documents.storing.chunk_vectors import DraftVectors
from app.documents.types import Document, DocumentDraft, IngestResult, Upload
from app.entities.linking import gazetteers
from app.models.base import EmbeddingModel
from app.query import model_switch
from app.services import ChunkingOptions, Services


@dataclass(frozen=True, slots=True)
class StoringOptions:
    """How documents are stored.

    Attributes:
        retry_s: How long each step is repeated while the database is unavailable.
        wait: Whether the result of a large document is that of its job; otherwise the job is only queued.
        most_chunks: Chunks that the documents of one call have together; those that exceed them are queued as well.
    """

    retry_s: float = 15.0
    wait: bool = True
    most_chunks: int | None = None


IN_BULK, IN_JOB = StoringOptions(), StoringOptions(wait=False)
IN_TOOL = StoringOptions(retry_s=1.0)
IN_REQUEST = StoringOptions(retry_s=1.0, wait=False, most_chunks=large_documents.MANY_CHUNKS)


async def replace(document_id: UUID, upload: Upload, user_id: str, services: Services) -> IngestResult:
    """Store an upload as the new content of a document, a large one by a job that is only queued.

    Raises NotFound, Conflict, BadRequest naming the field, ProviderError, DatabaseUnavailable; then nothing is stored.
    """
    return await model_switch.run(
        services.embedder, services.db, lambda: _replace(document_id, upload, user_id, services)
    )


async def _replace(document_id: UUID, upload: Upload, user_id: str, services: Services) -> IngestResult:
    document = await _stored(document_id, user_id, services)
    if upload.uri is None:
        upload = dataclasses.replace(upload, uri=document.uri)
    draft = await _draft_in_thread(upload, services)
    if large_documents.is_large(draft):
        return await large_documents.queue(draft, user_id, services, document_id=document_id)
    vectors = DraftVectors(user_id, services, IN_REQUEST.retry_s)
    found = await vectors.find([draft])
    async with services.db.writing(user_id, checked=True) as writing:
        (put,) = await document_writes.put(writing, [draft], found, services.chunking_options, document_id=document_id)
    embedded = 0 if put.status == "unchanged" else vectors.count(draft)
    return IngestResult.of(draft, document_id, put.status, chunk_count=len(draft.chunks), embedded=embedded)


async def _stored(document_id: UUID, user_id: str, services: Services) -> Document:
    """The document to replace. Raises NotFound, and Conflict if its first version is still queued."""
    try:
        async with services.db.reading(user_id) as reading:
            document = await documents.get(reading, document_id)
            await gazetteers.current(reading)
            return document
    except errors.NotFound:
        await large_documents.check_not_queued(document_id, user_id, services)
        raise


def make_draft(upload: Upload, model: EmbeddingModel, options: ChunkingOptions) -> DocumentDraft:
    """The draft of an upload; that of a large one has no chunks. Raises BadRequest."""
    large_documents.check_length(len(upload.content))
    hashed = document_drafts.hashed(document_drafts.clean(upload, language=options.language))
    return large_documents.cut(hashed, model=model, options=options)


async def _draft_in_thread(upload: Upload, services: Services) -> DocumentDraft:
    work = partial(make_draft, upload, services.embedder.model, services.chunking_options)
    return await cancellable.run(len(upload.content), work)


async def stored_versions(
    drafts: Sequence[DocumentDraft], user_id: str, services: Services
) -> dict[bytes, StoredVersion]:
    """The stored versions of documents by identity."""
    async with services.db.reading(user_id) as reading:
        await gazetteers.current(reading)
        return await documents.find_many(reading, identities=[draft.identity for draft in drafts])
