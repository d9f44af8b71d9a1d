"""Counts and deletes the documents that pass filters.

Documents are deleted in slices, so that the user's other writes continue. An interrupted deletion has deleted the
documents of some slices, and may be repeated.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

from app.database import retries
from app.database.filter_types import Filters
from app.database.transactions import Database, Writing
from app.documents import operations as documents
from app.documents.store import selections, staged_documents
from app.documents.store.selections import SelectedDocument
from app.documents.types import RowCounts

PAGE = 200
"""Documents that are listed at once."""
CHUNKS = 100
"""Most chunks that a transaction deletes, except from a single document. Other writes wait some tenths of a second."""


Find = Callable[[Writing, SelectedDocument | None, int], Awaitable[list[SelectedDocument]]]
"""Lists documents to delete after the last deleted one. It may list more than the given number."""


@dataclass(slots=True)
class Deletion:
    """What has been deleted so far, and the last of these documents."""

    rows: RowCounts = field(default_factory=RowCounts)
    last: SelectedDocument | None = None


async def count(filters: Filters, user_id: str, *, db: Database) -> RowCounts:
    """The numbers of rows of the documents that pass the filters."""
    total = RowCounts()
    async for page in pages(filters, user_id, db=db):
        async with db.reading(user_id) as reading:
            total = sum((await selections.count(reading, page)).values(), total)
    return total


async def pages(filters: Filters, user_id: str, *, db: Database) -> AsyncIterator[list[UUID]]:
    """The ids of the documents that pass the filters, a page at a time."""
    after: SelectedDocument | None = None
    while True:
        async with db.reading(user_id) as reading:
            page = await selections.page(reading, filters, after=after, limit=PAGE)
        if not page:
            return
        yield [one.document_id for one in page]
        after = page[-1]


async def delete(filters: Filters, user_id: str, *, db: Database, actor: str) -> RowCounts:
    """Delete the documents that pass the filters; returns the numbers of their rows.

    Jobs that would store a document that passes, or a new version of such a document, are cancelled. Raises Busy,
    DatabaseUnavailable, DiskFull; the documents of earlier slices stay deleted.
    """

    async def find(writing: Writing, after: SelectedDocument | None, limit: int) -> list[SelectedDocument]:
        async with writing.custom_plans():
            return await selections.page(writing, filters, after=after, limit=limit)

    async with db.locking(user_id, checked=True) as writing:
        await staged_documents.cancel_selected(writing, filters)
    return await delete_found(find, user_id, db=db, actor=actor)


async def delete_found(find: Find, user_id: str, *, db: Database, actor: str) -> RowCounts:
    """Delete the documents that `find` lists, in slices, until it lists none. Raises what `delete` raises."""
    deletion = Deletion()
    while await retries.while_busy(_delete_slice, find, user_id, deletion, db=db, actor=actor):
        pass
    return deletion.rows


async def _delete_slice(find: Find, user_id: str, deletion: Deletion, *, db: Database, actor: str) -> bool:
    """Delete the documents of a slice, at least one. Returns false if none is left."""
    async with db.locking(user_id, checked=True) as writing:
        found = await find(writing, deletion.last, CHUNKS)
        if not found:
            return False
        # A document without chunks counts too, and so does a document whose postings a job removes.
        weights = [max(1, one.chunk_count) for one in found]
        fitting = sum(total <= CHUNKS for total in itertools.accumulate(weights))
        some = found[: max(1, fitting)]
        rows = await documents.delete_within(writing, [one.document_id for one in some], actor=actor)
    deletion.rows, deletion.last = sum(rows.values(), deletion.rows), some[-1]
    return True
