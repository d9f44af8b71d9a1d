"""Tests of the ids of documents that a process keeps to count facets with filters."""

from __future__ import annotations

import harness
import pytest
import sqlalchemy as sa
from cachetools import LRUCache

from app.pipelines.documents import documents
from app.shapes import FacetQuery, Filters
from app.store.documents import document_ids, facet_counts, facets
from app.store.documents.document_ids import IdCache, KeptIds
from app.store.maintenance import facet_repairs
from app.store.schema import tables

FILTERS = Filters(metadata={"state": {"ne": "draft"}})
IN_SQL = Filters(metadata=FILTERS.metadata, uri_prefix="note")


async def test_changes_are_read_and_all_documents_only_where_changes_are_unknown(
    tenant: harness.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = IdCache()

    async def counted() -> KeptIds:
        async with tenant.db.reading(tenant.user_id) as reading:
            of_ids, of_rows = [await facets.count(reading, FacetQuery(one), cache) for one in (FILTERS, IN_SQL)]
        assert of_ids == of_rows
        return cache.kept[tenant.user_id]

    async def add(place: int, **metadata: object) -> None:
        await tenant.add(f"Note {place}", f"note-{place}", metadata={"state": "new", **metadata})

    for number in range(4):
        await add(number, number=number)
    first = await counted()
    await add(4, number="x" * 50)
    await add(0, state="draft")
    # The largest id is given to another value, of another key.
    (last,) = [
        one for one in await documents.page(tenant.user_id, db=tenant.db, limit=9, after=None) if one.uri == "note-4"
    ]
    await documents.delete(last.document_id, tenant.user_id, db=tenant.db)
    await add(5, reused=True)
    second = await counted()
    assert second.read is first.read
    assert second.version != first.version

    async with tenant.db.writing(tenant.user_id) as writing:  # as a process of a version before 0039
        await writing.lock()
        d = tables.documents.c
        gone = sa.delete(tables.documents).where(d.user_id == tenant.user_id, d.uri == "note-1")
        metadata = await writing.scalar(gone.returning(d.metadata))
        await facet_counts.count(writing, removed=[metadata])
    third = await counted()
    assert third.read is not second.read

    async with tenant.db.writing(tenant.user_id) as writing:
        await writing.lock()
        await facet_repairs.correct(writing)
    fourth = await counted()
    assert fourth.read is not third.read

    monkeypatch.setattr(facet_counts, "KEPT_CHANGES", 2)
    for number in range(6, 9):
        await add(number, number=number)
    fifth = await counted()
    assert fifth.read is not fourth.read
    monkeypatch.setattr(document_ids, "MOST_CHANGED", 0)
    await add(9, number=9)
    assert (await counted()).read is not fifth.read


async def test_ids_that_need_more_memory_than_there_is_are_not_kept(tenant: harness.Tenant) -> None:
    cache = IdCache()

    async def counted() -> int:
        async with tenant.db.reading(tenant.user_id) as reading:
            await facets.count(reading, FacetQuery(FILTERS), cache)
            (facet,) = await facets.count(reading, FacetQuery(FILTERS, key="state"), cache)
        return facet.documents

    await tenant.add("Note 1", metadata={"state": "new"})
    assert await counted() == 1
    for stored, room in ((2, cache.kept[tenant.user_id].size), (3, 1)):
        cache = IdCache(LRUCache(room, getsizeof=lambda ids: ids.size))
        assert await counted() == stored - 1
        await tenant.add(f"Note {stored}", metadata={"state": "new", "number": stored})
        assert await counted() == stored
        assert not cache.kept
