"""Writes and removes the rows of one document: itself, its chunks, vectors, postings and statistics.

Every function runs under the user's lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

import sqlalchemy as sa

from app.shapes import ChunkDraft, DocumentDraft
from app.store import jobs, mentions, sql, tables, vectors
from app.store.db import Writing

VectorValue = str | Sequence[float]
"""A vector as Postgres text or as numbers."""
CLEAN = "remove_postings"
"""The kind of jobs that remove the postings of hidden chunks."""
MOST_UNINDEXED = 2_000
"""Chunks up to which a document's postings are removed at once."""
SLICE = 500
"""Number of vectors per insert, limited so that the HNSW insertion stays within the statement timeout."""
_d = tables.documents.c
_c = tables.chunks.c


async def clear(db: Writing, user_id: str, document_id: UUID) -> None:
    """Delete the chunks of a document with their vectors, postings and mentions.

    The postings of a long document are hidden instead, and a job removes them.
    """
    binds = {"user_id": user_id, "document_id": document_id}
    own = (_c.user_id == user_id, _c.document_id == document_id)
    numbers = sa.select(sa.func.count(), sa.func.min(_c.chunk_no), sa.func.max(_c.chunk_no)).where(*own)
    count, first, last = (await db.execute(numbers)).one()
    if count > MOST_UNINDEXED or (count and last - first + 1 != count):
        await hide(db, user_id, document_id, before=last + 1)
        await jobs.enqueue(db, user_id, CLEAN)
        return
    mentioned = await mentions.of_document(db, user_id, document_id)
    await db.execute(sql.statement("unindex_document"), binds)
    await db.execute(sql.statement("count_document"), {**binds, "sign": -1})
    await _delete_chunks(db, user_id, document_id, before=None)
    await mentions.prune(db, user_id, mentioned)


async def hide(db: Writing, user_id: str, document_id: UUID, *, before: int) -> None:
    """Delete the chunks of a document with numbers below `before`, and hide their postings."""
    mentioned = await mentions.of_document(db, user_id, document_id)
    binds = {"user_id": user_id, "document_id": document_id, "before": before}
    await db.execute(sql.statement("hide_document"), binds)
    await _delete_chunks(db, user_id, document_id, before=before)
    await mentions.prune(db, user_id, mentioned)


async def _delete_chunks(db: Writing, user_id: str, document_id: UUID, *, before: int | None) -> None:
    """Delete the chunks of a document, those with numbers below `before` if given.

    What refers to them is deleted first, because the foreign keys would delete it row by row.
    """
    for table in (tables.headings, tables.mentions, tables.embeddings, tables.chunks):
        c = table.c
        below = [] if before is None else [c.chunk_no < before]
        await db.execute(sa.delete(table).where(c.user_id == user_id, c.document_id == document_id, *below))


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A document to write; its chunks are numbered from `first_no`."""

    user_id: str
    document_id: UUID
    draft: DocumentDraft
    first_no: int
    vectors_by_key: Mapping[UUID, VectorValue]


async def write_document(db: Writing, write: DocumentWrite, *, replace: bool) -> None:
    """Insert the row of a document, or update it with `replace`."""
    user_id, document_id, draft = write.user_id, write.document_id, write.draft
    values = {**attributes(draft), **cut(draft)}
    if replace:
        await update(db, user_id, document_id, draft, values)
    else:
        await db.execute(sa.insert(tables.documents).values(user_id=user_id, document_id=document_id, **values))


async def update(db: Writing, user_id: str, document_id: UUID, draft: DocumentDraft, values: Mapping[str, Any]) -> None:
    """Update a document; the time of its last change stays if text and attributes do."""
    same = sa.and_(
        _d.identity == draft.identity,
        _d.content_hash == draft.content_hash,
        _d.attributes_hash == draft.attributes_hash,
    )
    # A distributed table allows no function that is not immutable in CASE, but a subquery with one.
    changed_at = sa.case((same, _d.updated_at), else_=sa.select(sa.func.now()).scalar_subquery())
    change = sa.update(tables.documents).where(_d.user_id == user_id, _d.document_id == document_id)
    await db.execute(change.values(**values, updated_at=changed_at))


def attributes(draft: DocumentDraft) -> dict[str, Any]:
    """The columns of a document that do not depend on its chunks; its source stays if the draft has none."""
    values: dict[str, Any] = {
        "uri": draft.uri,
        "title": draft.title,
        "config": draft.config,
        "metadata": dict(draft.metadata),
        "content": draft.content,
        "identity": draft.identity,
        "content_hash": draft.content_hash,
        "attributes_hash": draft.attributes_hash,
    }
    if draft.created_at is not None:
        values["created_at"] = draft.created_at
    if draft.source is not None:
        values |= {"source_id": draft.source.source_id, "source_path": draft.source.path}
    return values


def cut(draft: DocumentDraft) -> dict[str, Any]:
    """The columns of a document that its chunks determine."""
    return {
        "chunk_count": len(draft.chunks),
        "markdown": draft.markdown,
        "chunk_tokens": draft.chunk_tokens,
        "chunk_overlap": draft.chunk_overlap,
        "page_starts": list(draft.page_starts),
        "cleaning_version": draft.cleaning_version,
    }


async def write_chunks(db: Writing, write: DocumentWrite) -> None:
    """Insert the chunks of a document with their vectors, postings and statistics."""
    draft = write.draft
    if not draft.chunks:
        return
    binds = {"user_id": write.user_id, "document_id": write.document_id}
    columns = _columns(write.document_id, draft.chunks)
    await db.execute(
        sql.statement("insert_chunks"), {**binds, "first_no": write.first_no, "config": draft.config, **columns}
    )
    for start in range(0, len(draft.chunks), SLICE):
        values = [write.vectors_by_key[chunk.embedding_key] for chunk in draft.chunks[start : start + SLICE]]
        texts = [vector if isinstance(vector, str) else vectors.as_text(vector) for vector in values]
        first_no = write.first_no + start
        await db.execute(sql.statement("insert_embeddings"), {**binds, "first_no": first_no, "vectors": texts})
    await db.execute(sql.statement("index_document"), binds)
    await db.execute(sql.statement("count_document"), {**binds, "sign": 1})


def _columns(document_id: UUID, drafts: Iterable[ChunkDraft]) -> dict[str, list[Any]]:
    chunks = list(drafts)
    return {
        "chunk_ids": [uuid5(document_id, f"{index}:{chunk.embedding_key}") for index, chunk in enumerate(chunks)],
        "contents": [chunk.passage.content for chunk in chunks],
        "starts": [chunk.passage.start for chunk in chunks],
        "ends": [chunk.passage.end for chunk in chunks],
        "headings": [json.dumps(chunk.passage.heading_path) for chunk in chunks],
        "indexed": [chunk.indexed for chunk in chunks],
        "embedding_keys": [chunk.embedding_key for chunk in chunks],
    }
