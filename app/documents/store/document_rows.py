"""Writes and removes the rows of documents, and of their chunks, vectors, postings and statistics.

Every function runs under the user's lock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID, uuid5

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app import capability
from app.database import sql, vectors
from app.database.schema import tables
from app.database.transactions import Writing
from app.database.vectors import VectorValue
from app.documents.store import write_checks
from app.documents.types import ChunkDraft, DocumentDraft
from app.entities.store import mentions
from app.entities.store.mentions import LinkedNames
from app.enums import Json
from app.jobs import store as jobs

POSTING_REMOVAL = "remove_postings"
"""The kind of jobs that remove the postings of hidden chunks."""
MOST_UNINDEXED = 2_000
"""The postings of a document with at most this many chunks are removed at once."""
SLICE = 500
"""Vectors per insert: few enough that the insertion into the HNSW index stays within the statement timeout."""
_ATTRIBUTES = ("uri", "title", "config", "content", "identity", "content_hash", "attributes_hash")
_OF_CUT = ("markdown", "chunk_tokens", "chunk_overlap", "cleaning_version")
"""Columns of a document that have the names of fields of its draft."""
_d = tables.documents.c


async def clear(db: Writing, chunk_counts: Mapping[UUID, int]) -> LinkedNames:
    """Delete the chunks of documents with their vectors, postings and mentions. `chunk_counts` is by document.

    Returns the names that the chunks mention: the caller prunes them after it has linked other versions. The postings
    of a document with more than MOST_UNINDEXED chunks are only hidden, and a job removes them.
    """
    document_ids = [document_id for document_id, count in chunk_counts.items() if count <= MOST_UNINDEXED]
    for document_id in chunk_counts.keys() - document_ids:
        await hide(db, document_id, before=None)
    linked = await mentions.of_documents(db, document_ids)
    binds = {"user_id": db.user_id, "document_ids": document_ids}
    await db.execute(sql.statement("unindex_documents"), binds)
    await db.execute(sql.statement("count_chunks"), {**binds, "sign": -1})
    await _delete_chunks(db, document_ids, before=None)
    return linked


async def hide(db: Writing, document_id: UUID, *, before: int | None) -> None:
    """Delete the chunks of a document, or only those with numbers below `before`, and hide their postings.

    A job removes the postings.
    """
    linked = await mentions.of_documents(db, [document_id])
    binds = {"user_id": db.user_id, "document_id": document_id, "before": before}
    await db.execute(sql.statement("hide_document"), binds)
    await _delete_chunks(db, [document_id], before=before)
    await mentions.prune(db, linked)
    await jobs.enqueue(db, POSTING_REMOVAL)


async def _delete_chunks(db: Writing, document_ids: Sequence[UUID], *, before: int | None) -> None:
    """Delete the chunks of documents, or only those with numbers below `before`.

    Rows that refer to chunks are deleted first: the foreign keys would delete them one by one.
    """
    for table in (tables.headings, tables.mentions, tables.embeddings, tables.chunks):
        c = table.c
        below = [] if before is None else [c.chunk_no < before]
        these = (c.user_id == db.user_id, sql.among(c.document_id, document_ids), *below)
        await db.execute(sa.delete(table).where(*these))


@dataclass(frozen=True, slots=True)
class PutDocument:
    """A draft and the document that stores it. Unless it is unchanged, its chunks are numbered from `first_no`.

    An `added` document has no row yet.
    """

    document_id: UUID
    draft: DocumentDraft
    status: Literal["added", "replaced", "unchanged"]
    first_no: int = 0


async def write(
    db: Writing, writes: Sequence[PutDocument], *, vectors_by_key: Mapping[UUID, VectorValue], names_version: int = 0
) -> None:
    """Insert or update the rows of documents, and insert their chunks with vectors, postings and statistics.

    The chunks are numbered consecutively, in the order of the documents. `names_version` is the version of the rules by
    which the caller links the documents to entities in this transaction.
    """
    if new := [one for one in writes if one.status == "added"]:
        rows = [{"document_id": one.document_id, **attributes(one.draft), **cut(one.draft)} for one in new]
        binds = {"user_id": db.user_id, "documents": as_json(rows), "names_version": names_version}
        await db.execute(sql.statement("insert_documents"), binds)
        await note_metadata(db, added=[one.draft.metadata for one in new])
    for one in writes:
        if one.status == "replaced":
            values = {**attributes(one.draft), **cut(one.draft), "names_version": names_version}
            # If the caller links the document in this transaction, no model has named entities in it.
            values |= {"extracted": []} if names_version else {}
            await update(db, one.document_id, one.draft, values)
    if db.restriction is not None:
        await write_checks.check_written(db, [one.document_id for one in writes])
    await _write_chunks(db, [one for one in writes if one.draft.chunks], vectors_by_key)


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as the JSON array that a statement reads: bytes are in hexadecimal, ids and times are text."""
    return json.dumps(rows, default=lambda value: value.hex() if isinstance(value, bytes) else str(value))


async def update(db: Writing, document_id: UUID, draft: DocumentDraft, values: Mapping[str, Any]) -> None:
    """Set columns of a document to `values`, which come from the draft.

    If identity, text and attributes are equal, the time of the last change stays. Else it is that of the statement, as
    of an inserted document. If the identity is equal, the spelling of the URI stays. If the text is equal, the entities
    that a model has named in it stay.
    """
    same = sa.and_(
        _d.identity == draft.identity,
        _d.content_hash == draft.content_hash,
        _d.attributes_hash == draft.attributes_hash,
    )
    # In CASE, a distributed table allows a function that is not immutable only in a subquery.
    changed_at = sa.case((same, _d.updated_at), else_=sa.select(sa.func.statement_timestamp()).scalar_subquery())
    extracted = sa.case((_d.content_hash == draft.content_hash, _d.extracted), else_=sa.literal([], JSONB))
    change = sa.update(tables.documents).where(_d.user_id == db.user_id, _d.document_id == document_id)
    of_document = sa.select(_d.metadata).where(_d.user_id == db.user_id, _d.document_id == document_id)
    before = list(await db.scalars(of_document))
    uri = sa.case((_d.identity == draft.identity, _d.uri), else_=sa.literal(draft.uri, sa.Text))
    await db.execute(change.values(**{"extracted": extracted, **values, "uri": uri}, updated_at=changed_at))
    await note_metadata(db, added=[draft.metadata], removed=before)


def attributes(draft: DocumentDraft) -> dict[str, Any]:
    """The columns of a document that do not depend on its chunks. If the draft has no source, the source stays."""
    values: dict[str, Any] = {name: getattr(draft, name) for name in _ATTRIBUTES} | {"metadata": dict(draft.metadata)}
    if draft.created_at is not None:
        values["created_at"] = draft.created_at
    if draft.source is not None:
        values |= {"source_id": draft.source.source_id, "source_path": draft.source.path}
    return values


def cut(draft: DocumentDraft) -> dict[str, Any]:
    """The columns of a document that are computed when its text is cut into chunks."""
    values = {name: getattr(draft, name) for name in _OF_CUT}
    return {**values, "chunk_count": len(draft.chunks), "page_starts": list(draft.page_starts)}


_INSERT_EMBEDDINGS = sql.inline(
    """
    INSERT INTO stepwell.embeddings (user_id, chunk_no, document_id, embedding)
    SELECT :user_id, :first_no::bigint + v.place - 1, v.document_id, {{stored_vector stepwell.embeddings, v.embedding}}
    FROM unnest(:document_ids::uuid[], :vectors::text[]) WITH ORDINALITY AS v (document_id, embedding, place)
    RETURNING chunk_no
    """
)


async def _write_chunks(db: Writing, writes: Sequence[PutDocument], vectors_by_key: Mapping[UUID, VectorValue]) -> None:
    if not writes:
        return
    first_no, chunks = writes[0].first_no, [(one, chunk) for one in writes for chunk in one.draft.chunks]
    binds = {"first_no": first_no, "chunks": as_json([row for one in writes for row in _of_chunks(one)])}
    await db.execute(sql.statement("insert_chunks"), {"user_id": db.user_id, **binds})
    for start in range(0, len(chunks), SLICE):
        some = chunks[start : start + SLICE]
        texts = vectors.as_texts([vectors_by_key[chunk.embedding_key] for _one, chunk in some])
        of = {"first_no": first_no + start, "document_ids": [one.document_id for one, _chunk in some], "vectors": texts}
        await db.execute(_INSERT_EMBEDDINGS, {"user_id": db.user_id, **of})
    written = {"user_id": db.user_id, "document_ids": [one.document_id for one in writes]}
    await db.execute(sql.statement("index_documents"), written)
    await db.execute(sql.statement("count_chunks"), {**written, "sign": 1})


def _of_chunks(write: PutDocument) -> list[dict[str, Any]]:
    """The columns of a document's chunks."""
    return [
        {
            "document_id": write.document_id,
            "chunk_index": index,
            "chunk_id": uuid5(write.document_id, f"{index}:{chunk.embedding_key}"),
            **of_chunk(chunk),
        }
        for index, chunk in enumerate(write.draft.chunks)
    ]


def of_chunk(chunk: ChunkDraft) -> dict[str, Any]:
    """The columns of a chunk that do not depend on its document, and the text to index."""
    return {
        "content": chunk.passage.content,
        "start_offset": chunk.passage.start,
        "end_offset": chunk.passage.end,
        "heading_path": chunk.passage.heading_path,
        "config": chunk.config,
        "indexed": chunk.indexed,
        "embedding_key": chunk.embedding_key,
    }


async def note_metadata(db: Writing, *, added: Sequence[Json] = (), removed: Sequence[Json] = ()) -> None:
    """Tell the counters of metadata what a write adds, and what it removes or replaces. Under the user's lock."""
    if any(added) or any(removed):
        for take in capability.declared("metadata"):
            await take(db, added=added, removed=removed)
