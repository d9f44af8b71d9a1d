"""No user can read or change another user's rows."""

from contextlib import suppress
from uuid import UUID, uuid4

import asyncpg
import harness
import hybrid
import linking
import pytest
import sqlalchemy as sa
from harness import Tenant

from app.database import transactions
from app.database.filter_types import DocumentFilter, Filters
from app.database.transactions import Database
from app.documents.store import document_puts, documents
from app.documents.types import DocumentDraft
from app.search.store import hybrid_search
from benchmarks.fake_embedder import FakeEmbedder

TEXTS = ("copper river lantern", "meadow copper")
FILLED = [
    f"stepwell.{name}"
    for name in (
        *("tenants", "documents", "chunks", "embeddings", "lexemes", "postings", "entities", "entity_names"),
        *("entity_members", "entity_words", "entity_vectors", "entity_changes", "mentions"),
    )
]
HOSTILE = [
    "it's", 'a"b', "back\\slash", "'; RESET stepwell.user_id; --", "%L %s $1", "größe 😀", "a\nb", " padded ", "E'x'",
]  # fmt: skip


@pytest.fixture(scope="module")
async def twins(database: Database, embedder: FakeEmbedder) -> tuple[str, str]:
    """Two users with the same documents and entities."""
    users = (f"one-{uuid4().hex}", f"two-{uuid4().hex}")
    for user in users:
        await hybrid.store(database, user, _draft(), embedder=embedder)
        tenant = Tenant(database, embedder, user)
        copper = await linking.add_entity(tenant, "Copper", facts=("Shines.",), description="A metal.")
        await linking.refresh(tenant)
        await linking.add_entity(tenant, "Metals", type="team", members=(copper.entity_id,))
    return users


def _draft() -> DocumentDraft:
    return hybrid.draft(*TEXTS, uri="shared.md", title="Shared", metadata={"kind": "note"})


async def _id(owner: asyncpg.Connection, user: str) -> UUID:
    return await owner.fetchval("SELECT document_id FROM stepwell.documents WHERE user_id = $1", user)


@pytest.fixture
async def alone(address: transactions.Database):
    """A pool of one connection, so that whoever comes next gets the one that was used before."""
    async with transactions.connect(address.service_dsn, pool_size=1, pool_wait_s=30.0) as database:
        yield database


@pytest.mark.parametrize("graph", [False, True], ids=["exact", "graph"])
@pytest.mark.parametrize("filters", [Filters(), Filters(metadata={"kind": "note"})], ids=["all", "filtered"])
async def test_a_search_finds_the_asking_users_chunks_only(database, twins, owner, embedder, request, graph, filters):
    if graph:
        request.getfixturevalue("by_graph")
    query = await embedder.embed_query("copper")
    for user in twins:
        for options in ({}, {"strict": ["copper"]}, {"excluded": ["violin"]}):
            found = await hybrid.run(database, hybrid.request(user, "copper", query, filters=filters, **options))
            assert [found.corpus_chunks, found.scope_chunks if not graph else 2] == [2, 2]
            assert {candidate.document_id for candidate in found.candidates} == {await _id(owner, user)}
            assert len(found.candidates) == 2
            assert [term.df for term in found.terms] == [2]


@pytest.mark.parametrize("table", FILLED)
async def test_a_statement_without_a_user_condition_reads_and_changes_only_the_users_own_rows(
    database, twins, owner, table
) -> None:
    read = sa.text(f"SELECT DISTINCT user_id FROM {table}")
    for user in twins:
        async with database.reading(user) as reading:
            assert list(await reading.scalars(read)) == [user]
    everyone = {row["user_id"] for row in await owner.fetch(str(read))}
    assert everyone >= set(twins), "negative control: no policy applies to the owner, who sees both"
    with suppress(Undone):
        async with database.writing(twins[0]) as writing:
            deleted = len((await writing.execute(sa.text(f"DELETE FROM {table} RETURNING user_id"))).all())
            raise Undone
    assert deleted == await owner.fetchval(f"SELECT count(*) FROM {table} WHERE user_id = $1", twins[0]) > 0


class Undone(Exception):
    """Rolls a transaction back."""


async def test_a_function_called_for_another_user_finds_nothing(database, twins, owner, embedder) -> None:
    one, two = twins
    query = await embedder.embed_query("copper")
    async with database.reading(one) as reading:
        found = await hybrid_search.hybrid(reading, hybrid.request(two, "copper", query))
        assert (found.candidates, found.corpus_chunks) == ((), 0)
        assert await documents.page(harness.posing_as(reading, two), limit=10, after=None, only=DocumentFilter()) == []
    with pytest.raises(Exception, match="row-level security"):
        async with database.writing(one) as writing:
            await document_puts.put(harness.posing_as(writing, two), [_draft()], vectors_by_key={})


SETTING = sa.text("SELECT coalesce(current_setting('stepwell.user_id', true), '')")
VISIBLE = sa.text("SELECT count(*) FROM stepwell.documents")
BACKEND = sa.text("SELECT pg_backend_pid()")


@pytest.mark.parametrize("opened", ["reading", "writing"])
async def test_a_connection_returns_to_the_pool_without_a_user_also_after_an_error(alone, twins, opened) -> None:
    async with getattr(alone, opened)(twins[0]) as used:
        assert (await used.scalar(SETTING), await used.scalar(VISIBLE)) == (twins[0], 1)
        pid = await used.scalar(BACKEND)
    with pytest.raises(asyncpg.PostgresError):
        async with getattr(alone, opened)(twins[0]) as connection:
            await connection.execute(sa.text("SELECT 1 / 0"))
    with pytest.raises(Undone):
        async with getattr(alone, opened)(twins[0]):
            raise Undone
    async with alone.shared() as shared:
        assert await shared.scalar(BACKEND) == pid
        assert await shared.scalar(SETTING) == ""
        assert await shared.scalar(VISIBLE) == 0
    async with alone.reading(twins[1]) as reading:
        assert list(await reading.scalars(sa.text("SELECT DISTINCT user_id FROM stepwell.chunks"))) == [twins[1]]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_any_text_is_a_valid_user_id(database, embedder, owner, hostile) -> None:
    await hybrid.store(database, hostile, _draft(), embedder=embedder)
    found = await hybrid.run(database, hybrid.request(hostile, "copper"))
    assert len(found.candidates) == 2
    assert await owner.fetchval("SELECT count(*) FROM stepwell.documents WHERE user_id = $1", hostile) == 1


async def test_the_empty_user_owns_nothing(database, embedder) -> None:
    with pytest.raises(Exception, match=r"row-level security|ck_tenants_user_id"):
        await hybrid.store(database, "", _draft(), embedder=embedder)
    assert (await hybrid.run(database, hybrid.request("", "copper"))).corpus_chunks == 0
