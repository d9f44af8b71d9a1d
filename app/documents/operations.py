"""Reads and deletes a user's documents, and counts what is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from uuid import UUID

from app import errors
from app.access.store import audit
from app.access.store.audit import Event
from app.database.filter_types import DocumentFilter, Filters
from app.database.transactions import Database, Writing, retry_read
from app.documents.store import document_puts, documents, staged_documents
from app.documents.types import Chunk, Document, RowCounts, Stats
from app.query.search_types import MissedFilter
from app.relevance import calibration_store as calibrations
from app.text import iso_dates, uris

EVERY = DocumentFilter()


@retry_read
async def get(document_id: UUID, user_id: str, *, db: Database) -> Document:
    """One document with its text. Raises NotFound."""
    async with db.reading(user_id) as reading:
        return await documents.get(reading, document_id)


@retry_read
async def get_containing(id: UUID, user_id: str, *, db: Database) -> tuple[documents.DocumentSource, int]:
    """The document with this id and offset 0, or the document and offset of the chunk with this id. Raises NotFound."""
    async with db.reading(user_id) as reading:
        document_id, start = (await documents.of_chunks(reading, [id])).get(id, (id, 0))
        return await documents.source(reading, document_id), start


@retry_read
async def page(
    user_id: str, *, db: Database, limit: int, after: tuple[datetime | str, UUID] | None, only: DocumentFilter = EVERY
) -> list[Document]:
    """Documents that `only` selects, without their text, in the order of `only.order`."""
    async with db.reading(user_id) as reading:
        return await documents.page(reading, limit=limit, after=after, only=only)


@retry_read
async def creation_days(document_ids: Collection[UUID], user_id: str, *, db: Database) -> dict[UUID, date]:
    """The days in UTC on which documents were created, by id."""
    async with db.reading(user_id) as reading:
        moments = await documents.dates(reading, document_ids, key=None)
    return {one: iso_dates.at(moment).date() for one, moment in moments.items()}


@retry_read
async def ids_of_uris(given: Sequence[str], user_id: str, *, db: Database) -> dict[str, UUID]:
    """The ids of the documents with these URIs, in any spelling, by URI; a URI that no document has is left out."""
    identities = {uri: uris.identity(uri) for uri in given}
    async with db.reading(user_id) as reading:
        found = await document_puts.find_many(reading, identities=list(identities.values()))
    return {uri: found[identity].document_id for uri, identity in identities.items() if identity in found}


@retry_read
async def ids_of_chunks(chunk_ids: Collection[UUID], user_id: str, *, db: Database) -> set[UUID]:
    """The ids of the documents that contain these chunks."""
    async with db.reading(user_id) as reading:
        return {document_id for document_id, _start in (await documents.of_chunks(reading, chunk_ids)).values()}


async def find_missed(filters: Filters, user_id: str, *, db: Database) -> list[MissedFilter]:
    """The bounds of the time of creation that no document meets, with the time of the nearest document."""
    found = []
    if (after := filters.created_after) is not None:
        newest = await page(user_id, db=db, limit=1, after=None)
        found += [("created_after", one.created_at) for one in newest if one.created_at < after]
    if (before := filters.created_before) is not None:
        oldest = await page(user_id, db=db, limit=1, after=None, only=DocumentFilter(order="oldest"))
        found += [("created_before", one.created_at) for one in oldest if one.created_at >= before]
    return [MissedFilter(key, True, (), nearest_moment=moment) for key, moment in found]


@retry_read
async def chunks(document_id: UUID, user_id: str, *, db: Database, limit: int, offset: int) -> list[Chunk]:
    """A document's chunks in order. Raises NotFound."""
    async with db.reading(user_id) as reading:
        return await documents.chunks(reading, document_id, limit=limit, offset=offset)


async def delete(document_id: UUID, user_id: str, *, db: Database, actor: str = audit.LOCAL) -> RowCounts:
    """Remove a document with its chunks, vectors, postings and mentions, with an audit event of `actor`.

    Raises NotFound.
    """
    async with db.writing(user_id, checked=True) as writing:
        return (await delete_within(writing, [document_id], actor=actor))[document_id]


async def delete_by_uri(uri: str, user_id: str, *, db: Database, actor: str = audit.LOCAL) -> RowCounts:
    """Remove the document with this URI, in any spelling, like `delete`. Raises NotFound.

    Jobs that would store a document with this URI are cancelled.
    """
    identity = uris.identity(uri)
    unknown = errors.NotFound("The user has no document with this uri.")
    async with db.locking(user_id, checked=True) as writing:
        try:
            cancelled = await staged_documents.supersede(writing, identities=[identity])
        except errors.OutsideOfKey:
            raise unknown from None
        found = await document_puts.find(writing, identity=identity)
        if found is not None:
            try:
                return (await delete_within(writing, [found.document_id], actor=actor))[found.document_id]
            except errors.NotFound:  # the caller does not see it
                raise unknown from None
        if not cancelled:
            raise unknown
        await _record(writing, dict.fromkeys(cancelled, RowCounts()), actor=actor)
        return RowCounts()


async def delete_within(writing: Writing, document_ids: Sequence[UUID], *, actor: str) -> dict[UUID, RowCounts]:
    """Remove several documents like `delete`, in an open transaction."""
    deleted = await documents.delete(writing, document_ids)
    await _record(writing, deleted, actor=actor)
    return deleted


async def _record(writing: Writing, deleted: Mapping[UUID, RowCounts], *, actor: str) -> None:
    counts = {str(gone): {"chunks": rows.chunks} for gone, rows in deleted.items()}
    events = [Event(writing.user_id, actor, "document.deleted", gone, rows) for gone, rows in counts.items()]
    await audit.record(writing, *events)


@retry_read
async def stats(user_id: str, *, db: Database) -> Stats:
    """How much a user has stored."""
    async with db.reading(user_id) as reading:
        stored, calibration = await documents.stats(reading), await calibrations.read(reading)
        return replace(stored, calibrated_at=calibration.fitted_at if calibration else None)
