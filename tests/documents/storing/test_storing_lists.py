"""Storing a list of documents has the same result as storing them one by one, in fewer statements."""

from collections.abc import Iterator
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
from app.documents.types import Upload
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
    return sorted(found, key=str), stats, await linking.of_tenant(owner, tenant)


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


@pytest.mark.parametrize("replaces", [False, True])
async def test_documents_of_a_list_are_written_together_in_its_order(tenant, monkeypatch, replaces) -> None:
    """The number of statements does not grow with that of new documents, and little with that of replaced ones."""
    monkeypatch.setattr(ingest, "BATCH_CHARACTERS", 8 * ingest.MIN_DOCUMENT_CHARACTERS)
    counts = []
    for step, size in enumerate((8, 2, 2, 8)):
        uris = [f"{0 if replaces else step}-{n}" for n in range(size)]
        with counted_statements(tenant) as statements:
            await tenant.many([Upload(f"# Log {step}\n\nBuoy {uri} by Ana.", uri=uri) for uri in uris])
        counts.append(len(statements))
        assert replaces or (await tenant.uris())[:size] == uris[::-1]
    assert counts[3] < 2 * counts[2] if replaces else counts[3] == counts[2]


async def test_documents_before_one_that_cannot_be_stored_are_stored(tenant: Tenant) -> None:
    refused = Upload("Second.", uri="b", metadata={"kind": "\0"})
    outcomes = ingest.store(
        [Upload("First.", uri="a"), refused, Upload("Third.", uri="c")], tenant.user_id, tenant.services()
    )
    assert (await anext(outcomes)).upload.uri == "a"
    with pytest.raises(PostgresError, match="Unicode escape"):
        await anext(outcomes)
    assert await tenant.uris() == ["a"]
