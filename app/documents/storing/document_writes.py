"""Writes drafts with their vectors: the rows of documents, their links to entities, and the jobs that follow.

Every function runs in the transaction of its caller, and takes the user's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from app.database.schema import reembedding
from app.database.transactions import Writing
from app.documents.store import document_puts, documents
from app.documents.store.document_puts import PutDocument
from app.documents.store.documents import DocumentSource
from app.documents.storing.chunk_vectors import ChunkVectors, TargetVectors
from app.documents.types import DocumentDraft
from app.entities.linking import llm_entities, mention_extraction
from app.entities.linking.mention_extraction import DocumentToLink
from app.entities.store.mentions import ChunkText, DocumentHead, LinkedNames
from app.services import ChunkingOptions
from app.text.names import names


async def put(
    db: Writing,
    drafts: Sequence[DocumentDraft],
    vectors: ChunkVectors,
    options: ChunkingOptions,
    *,
    document_id: UUID | None = None,
) -> list[PutDocument]:
    """Store drafts as the documents with their identities, or a single one as the document with this id.

    An identical document is left unchanged. Raises OutsideOfKey, and NotFound or Conflict for `document_id`.
    """
    stored, replaced = await document_puts.put(
        db, drafts, vectors_by_key=vectors.by_key, names_version=names.VERSION, document_id=document_id
    )
    written = [_to_link(put) for put in stored if put.status != "unchanged"]
    if written:
        await _complete(db, written, replaced, vectors.target, options)
    return stored


def _to_link(put: PutDocument) -> DocumentToLink:
    """A document that was stored in this transaction, as it is linked."""
    head = DocumentHead(put.draft.title, put.draft.metadata)
    chunks = []
    for index, chunk in enumerate(put.draft.chunks):
        opening, path = None if index else head, tuple(chunk.passage.heading_path)
        chunks.append(ChunkText(put.first_no + index, put.document_id, chunk.passage.content, opening, path))
    return DocumentToLink(put.document_id, head, chunks)


async def change(
    db: Writing, source: DocumentSource, draft: DocumentDraft, vectors: ChunkVectors, options: ChunkingOptions
) -> bool:
    """Store a draft as a new version of a document; false if it has changed since `source` was read.

    Raises NotFound, Conflict.
    """
    replaced = await documents.change(db, source, draft, vectors_by_key=vectors.by_key)
    if replaced is None:
        return False
    written = [await mention_extraction.stored_document(db, source.document.document_id)]
    await _complete(db, written, replaced, vectors.target, options)
    return True


async def _complete(
    db: Writing,
    written: Sequence[DocumentToLink],
    replaced: LinkedNames,
    target: TargetVectors,
    options: ChunkingOptions,
) -> None:
    """Store what belongs to documents that were written, and queue the jobs that follow.

    `replaced` are the names that their former versions contained.
    """
    document_ids = [document.document_id for document in written]
    await reembedding.add_documents(db, document_ids, target.by_key, table=target.table)
    await mention_extraction.link_all(db, written, replaced, keys=options.entity_keys)
    await llm_entities.enqueue(db, document_ids, options)
