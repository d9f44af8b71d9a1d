"""Tests of the ids of documents that a process keeps to count facets with filters."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import harness
import pytest
import sqlalchemy as sa
from cachetools import LRUCache

from app.pipelines.documents import document_changes, documents
from app.shapes import FacetQuery, Filters, SourceDraft, Upload
from app.store.facets import document_ids, facet_counts, facets
from app.store.facets.document_ids import IdCache, KeptIds
from app.store.maintenance import facet_repairs
from app.store.schema import tables
from app.store.sources import sources

FILTERS = Filters(metadata={"state": {"ne": "draft"}})
IN_SQL = Filters(metadata={"none": {"in": "objects"}})


async def test_changes_are_read_and_all_documents_only_where_changes_are_unknown(
    tenant: harness.Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = IdCache()

    async def counted() -> KeptIds:
        async with tenant.db.reading(tenant.user_id) as reading:
            of_ids = await facets.count(reading, FacetQuery(FILTERS), cache)
            of_rows = await facets.count(reading, FacetQuery(replace(FILTERS, negated=IN_SQL)))
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


async def test_attributes_are_kept_once_they_are_tested_and_changes_of_them_are_read(tenant: harness.Tenant) -> None:
    cache, old, new = IdCache(), datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
    async with tenant.db.writing(tenant.user_id) as writing:
        source_id = await sources.add(writing, SourceDraft("/notes", ("*",), name="Notes"))
    of_attributes = (
        *(Filters(created_after=new), Filters(created_before=new), Filters(uri_prefix="note-1")),
        *(Filters(file_types=("md",)), Filters(source_ids=(source_id,)), Filters(source_names=("NOTES",))),
    )

    async def counted(*found: int) -> KeptIds:
        async with tenant.db.reading(tenant.user_id) as reading:
            for one, expected in zip(of_attributes, found, strict=True):
                of_ids = await facets.count(reading, FacetQuery(one, key="state"), cache)
                assert sum(facet.documents for facet in of_ids) == expected, one
                assert of_ids == await facets.count(reading, FacetQuery(replace(one, negated=IN_SQL), key="state"))
        return cache.kept[tenant.user_id]

    first, second = [
        (await tenant.add(f"Note {place}", f"note-{place}", metadata={"state": "new"}, created_at=old)).document_id
        for place in (1, 2)
    ]
    bare = (await tenant.add("Note 3", "note-1.3.md", created_at=new)).document_id
    async with tenant.db.reading(tenant.user_id) as reading:
        await facets.count(reading, FacetQuery(FILTERS), cache)
    assert not cache.kept[tenant.user_id].has_attributes
    kept = await counted(0, 2, 1, 0, 0, 0)

    await tenant.add("Note 1", "note-1", metadata={"state": "new"}, created_at=new)
    await document_changes.move(
        second, Upload("Note 2", uri="note-1/ü.MD", metadata={"state": "new"}), tenant.user_id, tenant.services()
    )
    async with tenant.db.writing(tenant.user_id) as writing:
        await writing.lock()
        await sources.link(writing, source_id, {first: "1", bare: "3"})
    changed = await counted(1, 1, 2, 1, 1, 1)
    assert changed.read is kept.read

    with harness.counted_statements(tenant) as run:
        await tenant.add("Note 1", "note-1", metadata={"state": "new"}, created_at=new, title="First")
        await tenant.add("Note 3", "note-1.3.md", created_at=old)
    assert not any("document_facets" in statement for statement in run)
    await documents.delete(first, tenant.user_id, db=tenant.db)
    assert (await counted(0, 1, 1, 1, 0, 0)).read is kept.read

    await tenant.add("Note 4", "note-4", metadata={"state": "new"}, created_at=old)
    async with tenant.db.writing(tenant.user_id) as writing:  # as a process of a version before 0040
        await writing.execute(sa.update(tables.facet_changes).values(added_attributes=b"", added_texts=b""))
    assert (await counted(0, 2, 1, 1, 0, 0)).read is not kept.read


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
