"""Storing a list of documents or entities has the same result as storing its items one by one."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import linking
import pytest
from asyncpg import PostgresError
from harness import Tenant, counted_statements
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app import errors
from app.database.filter_types import DocumentFilter
from app.database.transactions import Database
from app.documents import operations as documents
from app.documents.storing import ingest
from app.documents.types import DuplicateUse, Upload
from app.entities import bulk_upsert
from app.entities import operations as entities
from app.entities.bulk_upsert import Line
from app.entities.types import Entity, EntityDraft, EntityFilter
from app.enums import Vector
from benchmarks.fake_embedder import FakeEmbedder

TEXTS = (
    "Ana Torres calibrated the buoy batteries.",
    "# Batteries\n\nBen Okafor bought them.\n\n# Ropes\n\nThe ropes were renewed by Ana Torres.",
    "The winter log lists batteries, ropes and Ben Okafor.",
)
UPLOADS = st.builds(
    Upload,
    content=st.sampled_from(TEXTS),
    uri=st.sampled_from(["a", "b", None]),
    title=st.sampled_from([None, "Winter log"]),
    metadata=st.sampled_from([{}, {"people": ["Ben Okafor"]}, {"tags": ["ropes"]}]),
)
STORED = [Upload(TEXTS[2], uri="a"), Upload(TEXTS[1], uri="b"), Upload(TEXTS[0])]
STEPS = st.lists(st.lists(UPLOADS, min_size=1, max_size=6) | st.sampled_from(["a", "b"]), min_size=1, max_size=4)
"""Lists of uploads, and deletions by uri between them."""


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> Iterator[None]:
    """Three documents are embedded together, so that a list takes several batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "BATCH_CHARACTERS", 3 * ingest.MIN_DOCUMENT_CHARACTERS)
        yield


@settings(max_examples=5, deadline=None)
@example(steps=[[Upload(TEXTS[text], uri=uri) for uri, text in [("a", 0), ("a", 1), ("a", 1), ("b", 0), ("a", 2)]]])
@example(steps=[[Upload(TEXTS[1], uri="b", title="Winter log"), Upload(TEXTS[1], uri="a")]])
@example(steps=[STORED, [Upload(TEXTS[0], uri="a"), *STORED[1:], STORED[0]]])  # back as it was, a batch later
@given(steps=STEPS)
async def test_a_list_of_documents_equals_its_documents_one_by_one(database, owner, steps) -> None:
    listed, single = Tenant(database), Tenant(database)
    for step in steps:
        if isinstance(step, str):
            assert await _delete(listed, step) == await _delete(single, step)
            continue
        outcomes = await listed.many(step)
        one_by_one = [await ingest.store_one(upload, single.user_id, single.services()) for upload in step]
        assert [o.stored and (o.stored.status, o.stored.chunk_count) for o in outcomes] == [
            (stored.status, stored.chunk_count) for stored in one_by_one
        ]
    assert await _stored(listed, owner) == await _stored(single, owner)


async def test_an_embedder_that_fails_on_a_later_group_leaves_the_groups_before_it_stored(database: Database) -> None:
    embedder = FailingOn("Note 4 on ropes.")
    tenant = Tenant(database, embedder)
    uploads = [Upload(f"Note {number} on ropes.", uri=f"{number}") for number in range(9)]
    with pytest.raises(errors.ProviderError):
        await tenant.many(uploads)
    found = await documents.page(tenant.user_id, db=database, limit=20, after=None)
    assert {document.uri for document in found} == {"0", "1", "2"}
    embedder.text = ""
    assert len(await tenant.many(uploads)) == 9


class FailingOn(FakeEmbedder):
    """The fake embedder, which fails on one text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    async def embed_documents(self, texts: Any) -> list[Vector]:
        """The fake embedder's vectors."""
        if self.text in texts:
            raise errors.ProviderError("The model is away.", fault="unavailable")
        return await super().embed_documents(texts)


async def _delete(tenant: Tenant, uri: str) -> int:
    found = await documents.page(tenant.user_id, db=tenant.db, limit=1, after=None, only=DocumentFilter(uri))
    for document in found:
        await documents.delete(document.document_id, tenant.user_id, db=tenant.db)
    return len(found)


async def _stored(tenant: Tenant, owner: Any) -> Any:
    """The documents, the numbers of their derived rows, and their mentions."""
    await linking.refresh(tenant)
    found = []
    for row in await documents.page(tenant.user_id, db=tenant.db, limit=100, after=None):
        document = await documents.get(row.document_id, tenant.user_id, db=tenant.db)
        found.append((document.uri or "", document.content, document.title, dict(document.metadata)))
    stats = await documents.stats(tenant.user_id, db=tenant.db)
    repeated = stats.duplicates.documents  # the sets have the documents' ids, which differ
    return (
        sorted(found, key=str),
        replace(stats, duplicates=DuplicateUse(repeated)),
        await linking.of_tenant(owner, tenant),
    )


async def test_a_document_that_is_deleted_while_a_list_is_stored_is_stored_again(tenant: Tenant) -> None:
    """The list was compared with the stored documents before the deletion."""
    await tenant.add_all({"a": "First.", "b": "Second."})
    outcomes = ingest.store(
        [Upload("Changed.", uri="a"), Upload("Second.", uri="b")], tenant.user_id, tenant.services()
    )
    statuses = []
    async for outcome in outcomes:
        statuses.append(outcome.stored.status)
        if len(statuses) == 1:
            await _delete(tenant, "b")
    assert statuses == ["replaced", "added"]


async def test_new_documents_of_a_list_are_written_together(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of statements does not grow with that of the documents; their order is that of the list."""
    monkeypatch.setattr(ingest, "BATCH_CHARACTERS", 8 * ingest.MIN_DOCUMENT_CHARACTERS)
    counts = []
    for step, size in enumerate((2, 2, 8)):
        with counted_statements(tenant) as statements:
            await tenant.many([Upload(f"# Log {step}\n\nBuoy {n} by Ana.", uri=f"{step}-{n}") for n in range(size)])
        counts.append(len(statements))
    assert counts[2] == counts[1]
    assert await tenant.uris() == [f"2-{n}" for n in range(7, -1, -1)] + ["1-1", "1-0", "0-1", "0-0"]


async def test_replaced_documents_of_a_list_are_written_together(tenant, monkeypatch) -> None:
    monkeypatch.setattr(ingest, "BATCH_CHARACTERS", 8 * ingest.MIN_DOCUMENT_CHARACTERS)
    counts = []
    for step, size in enumerate((8, 2, 2, 8)):
        with counted_statements(tenant) as statements:
            await tenant.many([Upload(f"Buoy {n} in version {step}.", uri=f"{n}") for n in range(size)])
        counts.append(len(statements))
    assert counts[3] < 2 * counts[2]


async def test_documents_before_one_that_cannot_be_stored_are_stored(tenant: Tenant) -> None:
    refused = Upload("Second.", uri="b", metadata={"kind": "\0"})
    outcomes = ingest.store(
        [Upload("First.", uri="a"), refused, Upload("Third.", uri="c")], tenant.user_id, tenant.services()
    )
    assert (await anext(outcomes)).upload.uri == "a"
    with pytest.raises(PostgresError, match="Unicode escape"):
        await anext(outcomes)
    assert await tenant.uris() == ["a"]


NAMES = ("Ana Torres", "Ben Okafor", "Batteries")
LINES = st.lists(
    st.tuples(
        st.sampled_from([None, *NAMES]),
        st.builds(
            EntityDraft,
            type=st.sampled_from(["person", "team"]),
            name=st.sampled_from(NAMES),
            aliases=st.sampled_from([(), ("Ropes",)]),
            role=st.sampled_from([None, "diver"]),
            facts=st.sampled_from([(), ("Renews ropes.",)]),
            description=st.sampled_from([None, "Repairs buoys."]),
        ),
    ),
    min_size=1,
    max_size=5,
)
"""Entities, each with the present name of the stored entity that it replaces by id, if any."""


@settings(max_examples=5, deadline=None)
@given(first=LINES, second=LINES)
async def test_a_list_of_entities_equals_its_entities_one_by_one(database, owner, first, second) -> None:
    listed, single = Tenant(database), Tenant(database)
    for tenant in (listed, single):
        await tenant.add_all(dict(zip("abc", TEXTS, strict=True)))
    for lines in (first, second):
        results = await _upsert(listed, await _numbered(listed, lines))
        repeated = {number for number, _status, message in results if message == _REPEATED}
        one_by_one = [line for line in await _numbered(single, lines) if line.number not in repeated]
        expected = [result for line in one_by_one for result in await _upsert(single, [line])]
        assert [result for result in results if result[0] not in repeated] == expected
    assert await _stored_entities(listed, owner) == await _stored_entities(single, owner)


_REPEATED = f"The request has this entity already. {bulk_upsert.NAMESAKES}"


async def _numbered(tenant: Tenant, lines: Any) -> list[Line]:
    known = await _own_entities(tenant)
    count = Counter(entity.name for entity in known)
    ids = {entity.name: entity.entity_id for entity in known if count[entity.name] == 1}
    return [Line.of(number, draft, ids.get(replaced)) for number, (replaced, draft) in enumerate(lines)]


async def _own_entities(tenant: Tenant) -> list[Entity]:
    only = EntityFilter(origin="user")
    found = await entities.page(tenant.user_id, db=tenant.db, limit=50, only=only)
    return sorted(found, key=lambda e: (e.name, e.type, e.aliases, e.role or "", e.facts, e.description or ""))


async def _upsert(tenant: Tenant, lines: list[Line]) -> list[tuple[int, str, str | None]]:
    """The results as (line, status, message without ids)."""
    results = await bulk_upsert.run(lines, tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    return [(r.number, r.status, re.sub(r"[0-9a-f-]{36}", "…", r.error.message) if r.error else None) for r in results]


async def _stored_entities(tenant: Tenant, owner: Any) -> Any:
    """The user's own entities, the numbers of their derived rows, and the mentions of all entities."""
    await linking.refresh(tenant)
    found = [(e.type, e.name, e.aliases, e.role, e.facts, e.description) for e in await _own_entities(tenant)]
    query = "SELECT count(*) FROM stepwell.{} WHERE user_id = $1"
    tables = ("entity_names", "entity_words", "entity_vectors")
    counts = [await owner.fetchval(query.format(table), tenant.user_id) for table in tables]
    return found, counts, await linking.of_tenant(owner, tenant)


async def test_members_are_the_entities_that_have_the_names_after_the_earlier_lines(tenant: Tenant) -> None:
    ana = await linking.add_entity(tenant, "Ana Torres")
    renamed = Line.of(1, EntityDraft("person", "Ana Ruiz"), ana.entity_id)
    choir = Line.of(2, EntityDraft("team", "Choir", members=("Ana Torres",)))
    assert [status for _number, status, _message in await _upsert(tenant, [renamed, choir])] == ["updated", "refused"]
    successor = Line.of(2, EntityDraft("person", "Ana Torres"))
    choir = Line.of(1, EntityDraft("team", "Choir", members=("Ana Ruiz", "Ana Torres")))
    assert [status for _number, status, _message in await _upsert(tenant, [choir, successor])] == ["added", "added"]
    again = [
        Line.of(1, EntityDraft("person", "Ana Torres"), ana.entity_id),
        Line.of(2, EntityDraft("person", "Ana Ruiz")),
    ]
    assert [status for _number, status, _message in await _upsert(tenant, again)] == ["updated", "added"]


@pytest.mark.parametrize("team_first", [False, True])
async def test_a_member_is_the_entity_of_another_line_rather_than_one_in_metadata(tenant, team_first) -> None:
    await tenant.add("The landing.", "note", metadata={"author": "Ana Torres"})
    ana = Line.of(int(team_first), EntityDraft("person", "Ana Torres"))
    choir = Line.of(int(not team_first), EntityDraft("team", "Choir", members=("Ana Torres",)))
    outcomes = await _upsert(tenant, [choir, ana] if team_first else [ana, choir])
    assert [status for _number, status, _message in outcomes] == ["added", "added"]
    listed = await entities.page(tenant.user_id, db=tenant.db, limit=10, only=EntityFilter(origin="user"))
    stored = {entity.name: entity for entity in listed}
    assert stored["Choir"].members == (stored["Ana Torres"].entity_id,)
