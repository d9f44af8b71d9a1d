"""Finds the vectors of chunks, and writes drafts with them: rows, links to entities, and the jobs that follow.

No transaction is open while the model computes vectors. The writing functions run in the transaction of their caller
and take the user's lock.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from app import errors
from app.database.schema import reembedding
from app.database.schema.reembedding import StoredModel
from app.database.transactions import Writing
from app.database.vectors import VectorValue
from app.documents.store import document_puts, documents
from app.documents.store.document_rows import PutDocument
from app.documents.store.documents import DocumentSource
from app.documents.types import DocumentDraft
from app.entities.linking import llm_extraction, mention_extraction
from app.entities.linking.mention_extraction import DocumentToLink
from app.entities.store.mentions import ChunkText, DocumentHead, LinkedNames
from app.models import unit_vectors
from app.models.protocols import Embedder
from app.query import model_replacement
from app.services import ChunkingOptions, Services
from app.text.names import names

log = logging.getLogger(__name__)
Key = TypeVar("Key")

EMBED_SLICE = 256
"""Number of chunks that one call embeds. The work can be cancelled between two calls."""


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """The vectors of all chunks by embedding key; `computed` has the keys of vectors that the model computed.

    `of_target` has the vectors of the model that will replace the present one, for the table with the object id
    `target_table`.
    """

    by_key: Mapping[UUID, VectorValue]
    computed: frozenset[UUID]
    target_table: int = 0
    of_target: Mapping[UUID, VectorValue] | None = None

    def join(self, other: ChunkVectors) -> ChunkVectors:
        """Adds the vectors of `other`, and takes its `computed`. Vectors for an earlier target table are dropped."""
        by_key = {**self.by_key, **other.by_key}
        if not other.of_target:
            return ChunkVectors(by_key, other.computed, self.target_table, self.of_target)
        before = self.of_target or {} if self.target_table == other.target_table else {}
        return ChunkVectors(by_key, other.computed, other.target_table, {**before, **other.of_target})


NONE = ChunkVectors({}, frozenset())


def texts(drafts: Iterable[DocumentDraft], *, besides: Container[UUID] = ()) -> dict[UUID, str]:
    """The texts to embed of the documents' chunks, by embedding key, without the keys in `besides`."""
    chunks = (chunk for draft in drafts for chunk in draft.chunks)
    return {chunk.embedding_key: chunk.embedded for chunk in chunks if chunk.embedding_key not in besides}


async def find_vectors(texts: Mapping[UUID, str], user_id: str, services: Services) -> ChunkVectors:
    """The vectors of texts by key. Reads the vectors stored with the user's chunks, and computes the others.

    Raises ProviderError, DatabaseUnavailable, DiskFull.
    """
    await services.db.check_writable()
    async with services.db.reading(user_id) as reading:
        stored = await document_puts.known_vectors(reading, keys=list(texts))
        target = await reembedding.target(reading) if reading.vector_tables.next else None
    missing = {key: text for key, text in texts.items() if key not in stored}
    new = await compute_vectors(missing, services.embedder)
    found: dict[UUID, VectorValue] = {**stored, **new}
    if target is None:
        return ChunkVectors(found, frozenset(new))
    return ChunkVectors(found, frozenset(new), target.table, await _of_target(texts, target, services))


async def _of_target(
    texts: Mapping[UUID, str], target: StoredModel, services: Services
) -> Mapping[UUID, VectorValue] | None:
    """The vectors of the next model. None if it cannot compute them here: `stepwell reembed` adds what is missing."""
    switch = model_replacement.of(services.embedder)
    embedder = switch.configured(target) if switch else None
    if embedder is None:
        return None
    try:
        return await compute_vectors(texts, embedder)
    except errors.ProviderError as error:
        log.warning("vectors of the next model were not computed: %s", error.code, extra={"action": "target_failed"})
        return None


async def compute_vectors(texts: Mapping[Key, str], embedder: Embedder) -> dict[Key, array[float]]:
    """The vectors of texts by key as 32-bit floats. Raises ProviderError."""
    vectors: dict[Key, array[float]] = {}
    keys = list(texts)
    for start in range(0, len(keys), EMBED_SLICE):
        some = keys[start : start + EMBED_SLICE]
        raw = await embedder.embed_documents([texts[key] for key in some])
        usable = unit_vectors.unit_arrays(raw, count=len(some), dimension=embedder.model.dimension)
        vectors |= dict(zip(some, usable, strict=True))
    return vectors


async def put(
    db: Writing,
    drafts: Sequence[DocumentDraft],
    vectors: ChunkVectors,
    options: ChunkingOptions,
    *,
    document_id: UUID | None = None,
) -> list[PutDocument]:
    """Store drafts as the documents with their identities, or a single draft as the document with this id.

    An identical document stays unchanged. Raises OutsideOfKey, and NotFound or Conflict for `document_id`.
    """
    stored, replaced = await document_puts.put(
        db, drafts, vectors_by_key=vectors.by_key, names_version=names.VERSION, document_id=document_id
    )
    written = []
    for put in stored:
        if put.status == "unchanged":
            continue
        head = DocumentHead(put.draft.title, put.draft.metadata)
        chunks = []
        for index, chunk in enumerate(put.draft.chunks):
            opening, path = None if index else head, tuple(chunk.passage.heading_path)
            chunks.append(ChunkText(put.first_no + index, put.document_id, chunk.passage.content, opening, path))
        written.append(DocumentToLink(put.document_id, head, chunks))
    if written:
        await _complete(db, written, replaced, vectors, options)
    return stored


async def change(
    db: Writing, source: DocumentSource, draft: DocumentDraft, vectors: ChunkVectors, options: ChunkingOptions
) -> bool:
    """Store a draft as a new version of a document; false if the document has changed since `source` was read.

    Raises NotFound, Conflict.
    """
    replaced = await documents.change(db, source, draft, vectors_by_key=vectors.by_key)
    if replaced is None:
        return False
    written = [await mention_extraction.stored_document(db, source.document.document_id)]
    await _complete(db, written, replaced, vectors, options)
    return True


async def _complete(
    db: Writing,
    written: Sequence[DocumentToLink],
    replaced: LinkedNames,
    vectors: ChunkVectors,
    options: ChunkingOptions,
) -> None:
    """Link written documents to entities, store their vectors of the next model, and queue the jobs that follow.

    `replaced` has the names that their former versions contained.
    """
    document_ids = [document.document_id for document in written]
    if vectors.of_target:
        await reembedding.add_documents(db, document_ids, vectors.of_target, table=vectors.target_table)
    await mention_extraction.link_all(db, written, replaced, keys=options.entity_keys)
    if options.llm_entities:
        await llm_extraction.enqueue(db, document_ids)
