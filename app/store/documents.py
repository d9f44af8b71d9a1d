"""Stores, replaces, deletes and reads a user's documents.

Every change takes the user's lock (`lock_tenant.sql`), which prevents deadlocks between concurrent writers of one user
and inconsistent text statistics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid4, uuid5

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app import errors
from app.shapes import Chunk, ChunkDraft, DeletionResult, Document, DocumentDraft, Stats
from app.store import mentions, sql, tables, vectors
from app.store.db import Reading, Writing

VectorValue = str | Sequence[float]
"""A vector as Postgres text or as numbers."""
SLICE = 500
"""Number of vectors per insert, limited so that the HNSW insertion stays within the statement timeout."""
_d = tables.documents.c
_c = tables.chunks.c
_e = tables.embeddings.c
_LISTED = (
    _d.document_id,
    _d.source_id,
    _d.uri,
    _d.title,
    _d.metadata,
    _d.config,
    _d.content_hash,
    _d.chunk_count,
    _d.created_at,
    _d.updated_at,
)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """The id, hashes and size of a stored document."""

    document_id: UUID
    content_hash: bytes
    attributes_hash: bytes
    chunk_count: int

    def same_as(self, draft: DocumentDraft) -> bool:
        """Whether storing `draft` would change nothing."""
        return (self.content_hash, self.attributes_hash) == (draft.content_hash, draft.attributes_hash)


async def find(db: Reading, user_id: str, *, identity: bytes) -> StoredVersion | None:
    """The user's document with this identity."""
    return (await find_many(db, user_id, identities=[identity])).get(identity)


async def find_many(db: Reading, user_id: str, *, identities: Sequence[bytes]) -> dict[bytes, StoredVersion]:
    """The user's documents with these identities, by identity."""
    wanted = sa.any_(sa.literal(list(identities), sa.ARRAY(sa.LargeBinary)))
    query = sa.select(_d.identity, _d.document_id, _d.content_hash, _d.attributes_hash, _d.chunk_count)
    rows = await db.execute(query.where(_d.user_id == user_id, _d.identity == wanted))
    return {identity: StoredVersion(*rest) for identity, *rest in rows}


async def known_vectors(db: Reading, user_id: str, *, keys: Sequence[UUID]) -> dict[UUID, str]:
    """The user's stored vectors (as Postgres text) by embedding key, for the keys that exist."""
    query = (
        sa.select(_c.embedding_key, sa.cast(_e.embedding, sa.Text))
        .ext(postgresql.distinct_on(_c.embedding_key))
        .join_from(
            tables.chunks,
            tables.embeddings,
            sa.and_(_e.user_id == user_id, _e.chunk_no == _c.chunk_no),
        )
        .where(_c.user_id == user_id, _c.embedding_key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Uuid))))
        .order_by(_c.embedding_key)
    )
    return {key: vector for key, vector in await db.execute(query)}


async def put(
    db: Writing, user_id: str, draft: DocumentDraft, *, vectors_by_key: Mapping[UUID, VectorValue]
) -> tuple[UUID, Literal["added", "replaced", "unchanged"]]:
    """Store `draft`, replacing the document with the same identity; an identical document is left unchanged.

    `vectors_by_key` must contain the embedding key of every chunk.
    """
    first_no = await _lock(db, user_id, len(draft.chunks))
    known = await find(db, user_id, identity=draft.identity)
    if known and known.same_as(draft):
        return known.document_id, "unchanged"
    if known:
        await _clear(db, user_id, known.document_id)
        document_id = known.document_id
    else:
        # A document that was replaced under another uri keeps the id of its first one.
        document_id = uuid4() if await exists(db, user_id, draft.new_id) else draft.new_id
    write = _DocumentWrite(user_id, document_id, draft, first_no, vectors_by_key)
    await _write_document(db, write, replace=known is not None)
    await _write_chunks(db, write)
    return document_id, "replaced" if known else "added"


async def replace(
    db: Writing, user_id: str, document_id: UUID, draft: DocumentDraft, *, vectors_by_key: Mapping[UUID, VectorValue]
) -> Literal["replaced", "unchanged"]:
    """Store `draft` as the new content of one document.

    Raises NotFound, and Conflict if another document already has the draft's uri.
    """
    first_no = await _lock(db, user_id, len(draft.chunks))
    query = sa.select(_d.document_id, _d.content_hash, _d.attributes_hash, _d.chunk_count)
    row = (await db.execute(query.where(_d.user_id == user_id, _d.document_id == document_id))).one_or_none()
    if row is None:
        raise not_found()
    other = await find(db, user_id, identity=draft.identity)
    if other and other.document_id != document_id:
        raise errors.Conflict("Another document already has this uri or this content.", field="uri")
    if other and other.same_as(draft):
        return "unchanged"
    await _clear(db, user_id, document_id)
    write = _DocumentWrite(user_id, document_id, draft, first_no, vectors_by_key)
    await _write_document(db, write, replace=True)
    await _write_chunks(db, write)
    return "replaced"


async def delete(db: Writing, user_id: str, document_id: UUID) -> DeletionResult:
    """Remove a document with its chunks, vectors, postings and mentions. Raises NotFound."""
    await _lock(db, user_id, 0)
    chunk_count = await db.scalar(sa.select(_d.chunk_count).where(_d.user_id == user_id, _d.document_id == document_id))
    if chunk_count is None:
        raise not_found()
    of_document = {"user_id": user_id, "document_id": document_id}
    vectors_deleted = await db.scalar(_count(tables.embeddings, of_document))
    mentions_deleted = await db.scalar(_count(tables.mentions, of_document))
    await _clear(db, user_id, document_id)
    await db.execute(sa.delete(tables.documents).where(_d.user_id == user_id, _d.document_id == document_id))
    return DeletionResult(1, chunk_count, int(vectors_deleted or 0), int(mentions_deleted or 0))


async def get(db: Reading, user_id: str, document_id: UUID) -> Document:
    """One document with its text. Raises NotFound."""
    query = sa.select(*_LISTED, _d.content).where(_d.user_id == user_id, _d.document_id == document_id)
    row = (await db.execute(query)).one_or_none()
    if row is None:
        raise not_found()
    return _document(row._mapping)


async def of_chunk(db: Reading, user_id: str, chunk_id: UUID) -> UUID | None:
    """The id of the document that contains a chunk; None if the user has no such chunk."""
    query = sa.select(_c.document_id).where(_c.user_id == user_id, _c.chunk_id == chunk_id)
    document_id: UUID | None = await db.scalar(query)
    return document_id


async def exists(db: Reading, user_id: str, document_id: UUID) -> bool:
    """Whether the user has this document."""
    query = sa.select(_d.document_id).where(_d.user_id == user_id, _d.document_id == document_id)
    return await db.scalar(query) is not None


async def page(
    db: Reading, user_id: str, *, limit: int, after: tuple[datetime, UUID] | None, uri: str | None
) -> list[Document]:
    """The user's documents without their text, newest first, continuing after the position `after`."""
    query = sa.select(*_LISTED).where(_d.user_id == user_id)
    if after is not None:
        query = query.where(sa.tuple_(_d.created_at, _d.document_id) < sa.tuple_(*map(sa.literal, after)))
    if uri is not None:
        query = query.where(_d.uri == uri)
    query = query.order_by(_d.created_at.desc(), _d.document_id.desc()).limit(limit)
    return [_document(row._mapping) for row in await db.execute(query)]


async def chunks(db: Reading, user_id: str, document_id: UUID, *, limit: int, offset: int) -> list[Chunk]:
    """A document's chunks in order. Raises NotFound."""
    if not await db.scalar(sa.select(_d.chunk_count).where(_d.user_id == user_id, _d.document_id == document_id)):
        raise not_found()
    query = (
        sa.select(
            _c.chunk_id, _c.document_id, _c.chunk_index, _c.content, _c.start_offset, _c.end_offset, _c.heading_path
        )
        .where(_c.user_id == user_id, _c.document_id == document_id)
        .order_by(_c.chunk_index)
        .limit(limit)
        .offset(offset)
    )
    return [Chunk(**{**row._mapping, "heading_path": tuple(row.heading_path)}) for row in await db.execute(query)]


async def stats(db: Reading, user_id: str) -> Stats:
    """The user's row counts, and the embedding model."""
    counted = {
        table.name: int(await db.scalar(_count(table, {"user_id": user_id})) or 0)
        for table in (tables.documents, tables.embeddings, tables.lexemes, tables.sources)
    }
    s = tables.text_statistics.c
    rows = (await db.execute(sa.select(s.config, s.chunks, s.tokens).where(s.user_id == user_id, s.chunks > 0))).all()
    identity = tables.embedding_identity.c
    model = (await db.execute(sa.select(identity.model, identity.dimension))).one()
    return Stats(
        documents=counted["documents"],
        chunks=sum(row.chunks for row in rows),
        vectors=counted["embeddings"],
        tokens=sum(row.tokens for row in rows),
        lexemes=counted["lexemes"],
        sources=counted["sources"],
        languages={row.config: row.chunks for row in rows},
        embedding_model=model.model,
        embedding_dimension=model.dimension,
    )


def not_found() -> errors.NotFound:
    """The error for an id that does not exist or belongs to another user."""
    return errors.NotFound("No such document.")


async def _lock(db: Writing, user_id: str, chunk_count: int) -> int:
    row = await db.execute(sql.statement("lock_tenant"), {"user_id": user_id, "chunks": chunk_count})
    return int(row.scalar_one())


async def _clear(db: Writing, user_id: str, document_id: UUID) -> None:
    binds = {"user_id": user_id, "document_id": document_id}
    mentioned = await mentions.of_document(db, user_id, document_id)
    await db.execute(sql.statement("unindex_document"), binds)
    await db.execute(sql.statement("count_document"), {**binds, "sign": -1})
    await db.execute(sa.delete(tables.chunks).where(_c.user_id == user_id, _c.document_id == document_id))
    await mentions.prune(db, user_id, mentioned)


@dataclass(frozen=True, slots=True)
class _DocumentWrite:
    """A document to write; its chunks are numbered from `first_no`."""

    user_id: str
    document_id: UUID
    draft: DocumentDraft
    first_no: int
    vectors_by_key: Mapping[UUID, VectorValue]


async def _write_document(db: Writing, write: _DocumentWrite, *, replace: bool) -> None:
    user_id, document_id, draft = write.user_id, write.document_id, write.draft
    values: dict[str, Any] = {
        "uri": draft.uri,
        "title": draft.title,
        "config": draft.config,
        "metadata": dict(draft.metadata),
        "content": draft.content,
        "identity": draft.identity,
        "content_hash": draft.content_hash,
        "attributes_hash": draft.attributes_hash,
        "chunk_count": len(draft.chunks),
    }
    if draft.created_at is not None:
        values["created_at"] = draft.created_at
    if replace:
        change = sa.update(tables.documents).where(_d.user_id == user_id, _d.document_id == document_id)
        await db.execute(change.values(**values, updated_at=sa.func.now()))
    else:
        await db.execute(sa.insert(tables.documents).values(user_id=user_id, document_id=document_id, **values))


async def _write_chunks(db: Writing, write: _DocumentWrite) -> None:
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


def _count(table: sa.Table, where: Mapping[str, Any]) -> sa.Select[int]:
    query = sa.select(sa.func.count()).select_from(table)
    return query.where(*(table.c[column] == value for column, value in where.items()))


def _document(row: Mapping[Any, Any]) -> Document:
    fields = dict(row)
    fields["language"] = fields.pop("config")
    fields["content_hash"] = fields["content_hash"].hex()
    return Document(**fields)
