"""Reads, changes and deletes a user's documents; `document_puts` stores new ones and replaces them.

Every change takes the user's lock (`lock_tenant.sql`). The lock prevents deadlocks between concurrent writers of one
user, and inconsistent text statistics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app import capability, errors
from app.database import filters, foreign_filter_operators, sql
from app.database.filter_types import ORDERED_CHARACTERS, DocumentFilter
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.database.vectors import VectorValue
from app.documents.store import (
    document_puts,
    document_rows,
    selections,
    staged_documents,
    visible_document_lists,
    write_checks,
)
from app.documents.store.document_rows import PutDocument
from app.documents.types import (
    Chunk,
    Document,
    DocumentDraft,
    RowCounts,
    Stats,
)
from app.entities.store import mentions
from app.entities.store.mentions import LinkedNames
from app.text import uris

_d = tables.documents.c
_c = tables.chunks.c
_COLUMNS = "document_id source_id uri title metadata config content_hash chunk_count created_at updated_at"
_LISTED = [_d[name] for name in _COLUMNS.split()]


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A stored document with its text, hashes and pages: everything that its chunks are cut from."""

    document: Document
    identity: bytes
    attributes_hash: bytes
    page_starts: tuple[int, ...]
    cleaning_version: int

    @property
    def version(self) -> tuple[bytes, bytes, bytes, datetime]:
        """The values that differ between two versions of the document."""
        content_hash = bytes.fromhex(self.document.content_hash)
        return self.identity, self.attributes_hash, content_hash, self.document.updated_at


async def source(db: Reading, document_id: UUID) -> DocumentSource:
    """Reads what a document's chunks are cut from. Raises NotFound."""
    others = (_d.identity, _d.attributes_hash, _d.page_starts, _d.cleaning_version)
    query = sa.select(*_LISTED, _d.content, _d.markdown, *others)
    row = (await db.execute(query.where(_d.user_id == db.user_id, _d.document_id == document_id))).one_or_none()
    if row is None:
        raise write_checks.not_found()
    fields = dict(row._mapping)
    identity, attributes_hash, page_starts, version = (fields.pop(column.name) for column in others)
    return DocumentSource(_document(fields), identity, attributes_hash, tuple(page_starts), version)


async def change(
    db: Writing, source: DocumentSource, draft: DocumentDraft, *, vectors_by_key: Mapping[UUID, VectorValue] | None
) -> LinkedNames | None:
    """Store `draft` as a new version of a document; None if the document has changed since `source` was read.

    Returns the names in the old version; the caller prunes them after it has linked the new version. Without vectors
    only the attributes are stored; the chunks and their names stay. Raises what `check_change` raises.
    """
    document_id = source.document.document_id
    first_no = await db.lock(chunks=0 if vectors_by_key is None else len(draft.chunks))
    if not await is_current(db, source):
        return None
    await check_change(db, source, draft)
    if vectors_by_key is None:
        await document_rows.update(db, document_id, draft, document_rows.attributes(draft))
        await write_checks.check_written(db, [document_id])
        return LinkedNames()
    linked = await document_rows.clear(db, {document_id: source.document.chunk_count})
    put = PutDocument(document_id, draft, "replaced", first_no)
    await document_rows.write(db, [put], vectors_by_key=vectors_by_key)
    return linked


async def is_current(db: Reading, source: DocumentSource) -> bool:
    """Whether the stored version of a document is still `source`. Raises NotFound."""
    columns = (_d.identity, _d.attributes_hash, _d.content_hash, _d.updated_at)
    of_document = sa.and_(_d.user_id == db.user_id, _d.document_id == source.document.document_id)
    row = (await db.execute(sa.select(*columns).where(of_document))).first()
    if row is None:
        raise write_checks.not_found()
    return tuple(row) == source.version


async def check_change(db: Writing, source: DocumentSource, draft: DocumentDraft) -> None:
    """Raises Conflict if a job is storing a new version of the document, or another document has the draft's uri.

    Raises NotFound if the caller does not see the document.
    """
    document_id = source.document.document_id
    await write_checks.check_seen(db, [document_id])
    pending = await staged_documents.pending(db, identities=[draft.identity], document_ids=[document_id])
    staged_documents.check_none(pending)
    other = await document_puts.find(db, identity=draft.identity)
    if other and other.document_id != document_id:
        raise errors.Conflict("Another document already has this uri or this content.", field="uri")


async def delete(db: Writing, document_ids: Sequence[UUID]) -> dict[UUID, RowCounts]:
    """Remove documents with their chunks, vectors, postings and mentions; returns the numbers of rows of each.

    Jobs that store versions of them are cancelled, even if no version is stored yet. The postings of long documents are
    hidden, and a job removes them. Raises NotFound if none of them exists, or if the caller does not see one of them.
    """
    await db.lock()
    await write_checks.check_seen(db, document_ids)
    found = await selections.count(db, document_ids)
    try:
        superseded = await staged_documents.supersede(db, document_ids=document_ids)
    except errors.OutsideOfKey:
        raise write_checks.not_found() from None
    if not superseded and not found:
        raise write_checks.not_found()
    linked = await document_rows.clear(db, {document_id: rows.chunks for document_id, rows in found.items()})
    await mentions.prune(db, linked)
    gone = sa.delete(tables.documents).where(_d.user_id == db.user_id, sql.among(_d.document_id, found))
    await document_rows.note_metadata(db, removed=list(await db.scalars(gone.returning(_d.metadata))))
    return {**dict.fromkeys(superseded, RowCounts()), **found}


async def get(db: Reading, document_id: UUID) -> Document:
    """One document with its text. Raises NotFound."""
    return (await source(db, document_id)).document


async def of_chunks(db: Reading, chunk_ids: Collection[UUID]) -> dict[UUID, tuple[UUID, int]]:
    """The id of the document that contains each chunk, and the chunk's offset; an id that no chunk has is left out."""
    columns = (_c.chunk_id, _c.document_id, _c.start_offset)
    query = sa.select(*columns).where(_c.user_id == db.user_id, sql.among(_c.chunk_id, chunk_ids))
    return {row.chunk_id: (row.document_id, row.start_offset) for row in await db.execute(query)}


async def page(
    db: Reading, *, limit: int, after: tuple[datetime | str, UUID] | None, only: DocumentFilter
) -> list[Document]:
    """The user's documents without their text, after the position `after`: a time or title, and an id."""
    await foreign_filter_operators.check(db, only.filters)
    filtering = filters.binds(filters.visible(db, only.filters))
    parts, binds = [*filtering], {"user_id": db.user_id, "limit": limit, **filtering}
    if only.order != "newest":
        parts.append(only.order)
    if only.order == "title":
        binds["characters"] = ORDERED_CHARACTERS
    if after is not None:
        parts.append("after")
        binds |= {"after_title" if only.order == "title" else "after_at": after[0], "after_id": after[1]}
    if only.uri is not None:
        parts.append("identity")
        binds["identity"] = uris.identity(only.uri)
    if only.words:
        parts.append("words")
        binds["words"] = list(only.words)
    rows = await db.execute(sql.statement("list_documents", *parts), binds)
    return [_document(row._mapping) for row in rows]


async def chunks(db: Reading, document_id: UUID, *, limit: int, offset: int) -> list[Chunk]:
    """A document's chunks in order. Raises NotFound."""
    if not await db.scalar(sa.select(_d.chunk_count).where(_d.user_id == db.user_id, _d.document_id == document_id)):
        raise write_checks.not_found()
    listed = (_c.chunk_id, _c.document_id, _c.chunk_index, _c.content, _c.start_offset, _c.end_offset, _c.heading_path)
    middle = (_c.start_offset + _c.end_offset) // 2
    page = sa.func.nullif(sa.func.width_bucket(middle, _d.page_starts), 0).label("page")
    of_document = sa.and_(_d.user_id == db.user_id, _d.document_id == _c.document_id)
    query = (
        sa.select(*listed, page)
        .join_from(tables.chunks, tables.documents, of_document)
        .where(_c.user_id == db.user_id, _c.document_id == document_id)
        .order_by(_c.chunk_index)
        .limit(limit)
        .offset(offset)
    )
    return [Chunk(**{**row._mapping, "heading_path": tuple(row.heading_path)}) for row in await db.execute(query)]


_CREATED = sql.inline(
    """
    SELECT d.document_id, CAST(extract(epoch FROM d.created_at) * 1000000 AS bigint) AS moment
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND d.document_id = ANY (:document_ids::uuid[])
    """
)
_IN_METADATA = sql.inline(
    """
    SELECT d.document_id, max(CAST(m.moment AS bigint)) AS moment
    FROM stepwell.documents AS d
    CROSS JOIN LATERAL jsonb_array_elements_text(d.moments -> 'moments' -> :key::text) AS m (moment)
    WHERE d.user_id = :user_id AND d.document_id = ANY (:document_ids::uuid[])
    GROUP BY d.document_id
    """
)


async def dates(db: Reading, document_ids: Collection[UUID], *, key: str | None) -> dict[UUID, int]:
    """The dates of documents in microseconds since 1970: their creation, or the latest date under a key of metadata.

    Dates are read as filters read them. A document without a date under the key is omitted.
    """
    binds = {"user_id": db.user_id, "document_ids": list(document_ids)}
    found = await db.execute(_CREATED, binds) if key is None else await db.execute(_IN_METADATA, {**binds, "key": key})
    return {row.document_id: row.moment for row in found}


async def stats(db: Reading) -> Stats:
    """The numbers of the rows that the caller sees, duplicates, and the embedding model."""
    await visible_document_lists.prepare(db)
    listed = {} if db.listed is None else {"document_ids": list(db.listed.document_ids)}
    statistics = "visible_statistics" if db.restriction is None else "statistics_of_chunks"
    rows = (await db.execute(sql.statement(statistics, *listed), {"user_id": db.user_id, **listed})).all()
    identity = tables.embedding_identity.c
    model = (await db.execute(sa.select(identity.model, identity.dimension))).one()
    return Stats(
        documents=await _count(db, tables.documents),
        chunks=sum(row.chunks for row in rows),
        vectors=await _count(db, tables.embeddings),
        tokens=sum(row.tokens for row in rows),
        sources=sum([len(await names(db)) for names in capability.declared("source_names")]),
        languages={row.config: row.chunks for row in rows},
        embedding_model=model.model,
        embedding_dimension=model.dimension,
    )


async def _count(db: Reading, table: sa.Table) -> int:
    listed = [] if db.listed is None else [sql.among(table.c.document_id, db.listed.document_ids)]
    return int(await db.scalar(sa.select(sa.func.count()).where(table.c.user_id == db.user_id, *listed)))


def _document(row: Mapping[Any, Any]) -> Document:
    fields = dict(row)
    fields["language"] = fields.pop("config")
    fields["content_hash"] = fields["content_hash"].hex()
    return Document(**fields)
