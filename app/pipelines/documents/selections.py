"""Counts and deletes the documents that pass filters.

Documents are deleted in slices, so that the user's other writes go on meanwhile. An interrupted deletion has deleted
the documents of some slices, and may be repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from uuid import UUID

from app import errors
from app.pipelines.documents import documents, posting_removal
from app.pipelines.running import retries, workers
from app.pipelines.running.services import Services
from app.shapes import Filters, RowCounts, SelectionDeletion
from app.store.connection.transactions import Database, Writing
from app.store.documents import pending_versions, selections
from app.store.documents.selections import BlockKey
from app.store.jobs import jobs

PAGE = 200
"""Documents that are listed at once."""
SLICE_S = 0.25
"""Time after which a transaction deletes no further document."""
REMOVAL_S, REMOVAL_POLL_S = 10.0, 0.2
"""Longest wait for the job that removes the postings of long documents, and the pause between two looks at it."""


Find = Callable[[Writing, UUID | None], Awaitable[list[UUID]]]
"""Lists the next documents to delete, after the last one that was deleted."""


@dataclass(slots=True)
class Deleted:
    """What has been deleted so far: rows, ids, and numbers of chunks as multiranges; `last` is the last id."""

    rows: RowCounts = field(default_factory=RowCounts)
    ids: list[UUID] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    last: UUID | None = None


async def count(filters: Filters, user_id: str, *, db: Database) -> RowCounts:
    """The numbers of rows of the documents that pass the filters."""
    total = RowCounts()
    async for page in pages(filters, user_id, db=db):
        async with db.reading(user_id) as reading:
            total += (await selections.count(reading, page))[0]
    return total


async def pages(filters: Filters, user_id: str, *, db: Database) -> AsyncIterator[list[UUID]]:
    """The ids of the documents that pass the filters, a page at a time."""
    after: UUID | None = None
    while True:
        async with db.reading(user_id) as reading:
            page = await selections.page(reading, filters, after=after, limit=PAGE)
        if not page:
            return
        yield page
        after = page[-1]


async def delete(filters: Filters, user_id: str, services: Services, *, actor: str) -> SelectionDeletion:
    """Delete the documents that pass the filters, and count afterwards what the tables still have of them.

    Jobs are cancelled that would store a document that passes, or a new version of one that does.
    Postings remain if the job that removes those of long documents has not ended within REMOVAL_S seconds. Raises
    Busy, DatabaseUnavailable, DiskFull; the documents of earlier slices stay deleted.
    """

    async def find(writing: Writing, after: UUID | None) -> list[UUID]:
        async with writing.custom_plans():
            return await selections.page(writing, filters, after=after, limit=PAGE)

    async with services.db.writing(user_id, checked=True) as writing:
        await writing.lock()
        await pending_versions.cancel_selected(writing, filters)
    deleted = await delete_found(find, user_id, db=services.db, actor=actor)
    await _remove_postings(user_id, services)
    return SelectionDeletion(deleted.rows, await _remaining(deleted, user_id, db=services.db))


async def delete_found(find: Find, user_id: str, *, db: Database, actor: str) -> Deleted:
    """Delete the documents that `find` lists, in slices, until it lists none. Raises what `delete` raises."""
    deleted = Deleted()
    while await retries.while_busy(_delete_slice, find, user_id, deleted, db=db, actor=actor):
        pass
    return deleted


async def _delete_slice(find: Find, user_id: str, deleted: Deleted, *, db: Database, actor: str) -> bool:
    """Delete documents for SLICE_S seconds, at least one; false if none is left."""
    rows, ids, numbers = RowCounts(), list[UUID](), list[str]()
    async with db.writing(user_id, checked=True) as writing:
        await writing.lock()
        began = time.monotonic()
        for document_id in await find(writing, deleted.last):
            of_document, chunk_nos = await documents.delete_within(writing, document_id, actor=actor)
            rows += of_document
            ids.append(document_id)
            numbers.append(chunk_nos)
            if time.monotonic() - began > SLICE_S:
                break
    deleted.rows += rows
    deleted.ids += ids
    deleted.numbers += numbers
    deleted.last = ids[-1] if ids else None
    return bool(ids)


async def _remove_postings(user_id: str, services: Services) -> None:
    """Run the jobs that remove postings here, or wait for other workers."""
    ends = time.monotonic() + REMOVAL_S
    while time.monotonic() < ends:
        async with services.db.reading(user_id) as reading:
            if not await jobs.count(reading, posting_removal.KIND.name):
                return
        ran = None
        with suppress(errors.StepwellError):  # the job is repeated by a worker
            ran = await workers.run_next(services, [posting_removal.KIND], user_id=user_id)
        if ran is None:
            await asyncio.sleep(REMOVAL_POLL_S)


async def _remaining(deleted: Deleted, user_id: str, *, db: Database) -> RowCounts:
    total = RowCounts()
    for start in range(0, len(deleted.ids), PAGE):
        async with db.reading(user_id) as reading:
            found, _numbers = await selections.count(reading, deleted.ids[start : start + PAGE])
        total += replace(found, postings=0)
    if not deleted.ids:
        return total
    async with db.reading(user_id) as reading:
        numbers = await selections.merged(reading, deleted.numbers)
    after: BlockKey | None = BlockKey()
    while after is not None:
        async with db.reading(user_id) as reading:
            postings, after = await selections.count_postings(reading, numbers, after=after)
        total += RowCounts(postings=postings)
    return total
