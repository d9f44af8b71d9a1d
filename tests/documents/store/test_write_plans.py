"""Writes look rows up by their keys, and so do the checks of foreign keys, whose plans EXPLAIN does not show.

Postgres counts the rows that a transaction reads, before there are statistics, and then for a user whom they do not
contain.
"""

from uuid import UUID, uuid4

import asyncpg
import hybrid
import pytest
import sqlalchemy as sa

from app.database.filter_types import DocumentFilter
from app.database.transactions import Database, Writing
from app.documents.store import documents
from app.entities.store import mentions
from app.entities.store.mentions import Mention
from app.enums import DocumentOrder
from app.text.names.names import Name
from benchmarks.fake_embedder import FakeEmbedder

DOCUMENTS, CHUNKS, ENTITIES = 220, 5, 20
FIRST, NEW = f"first-{uuid4().hex}", f"new-{uuid4().hex}"
TABLES = ("documents", "chunks", "embeddings", "mentions", "headings", "feedback")
JUDGE = """
INSERT INTO stepwell.feedback (user_id, feedback_id, query, document_id, helpful)
SELECT d.user_id, gen_random_uuid(), 'query', d.document_id, true
FROM stepwell.documents AS d CROSS JOIN generate_series(1, 5) WHERE d.user_id = $1
"""
LAST_CHUNKS = "SELECT chunk_no, document_id FROM stepwell.chunks ORDER BY chunk_no DESC LIMIT 40"
READ = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relid = CAST(:name AS regclass)"


@pytest.fixture(scope="module")
async def first(database: Database, owner: asyncpg.Connection, embedder: FakeEmbedder) -> list[UUID]:
    """The documents of a user in a database without statistics, whose table of documents has grown beyond 384 kB."""
    stored = await _store(database, FIRST, embedder, at_once=4)
    await owner.execute(JUDGE, FIRST)
    return stored


@pytest.fixture(scope="module")
async def unknown(database, owner, embedder, first) -> list[UUID]:
    """The documents of a second user, who is not in the statistics."""
    await owner.execute("ANALYZE")
    stored = await _store(database, NEW, embedder, at_once=44)
    await owner.execute(JUDGE, NEW)
    return stored


def _draft(n: int) -> hybrid.DocumentDraft:
    return hybrid.draft(*(f"note w{n} {m} {uuid4().hex * 10}" for m in range(CHUNKS)))


async def _read(db: Writing, table: str) -> int:
    """The rows of a table that the session has read since it last reported its statistics, before the transaction."""
    return int(await db.scalar(sa.text(READ), {"name": f"stepwell.{table}"}) or 0)


async def _store(database: Database, user: str, embedder: FakeEmbedder, *, at_once: int) -> list[UUID]:
    """Store documents, so many in one transaction."""
    stored: list[UUID] = []
    for start in range(0, DOCUMENTS, at_once):
        drafts = [_draft(n) for n in range(start, start + at_once)]
        stored += await hybrid.store_all(database, user, drafts, embedder=embedder)
    return stored


async def _mention(writing: Writing, user: str) -> float:
    """Store mentions of some entities in each of 40 chunks; the chunks that were read for each mention."""
    found = [Name(f"name {uuid4().hex}", "Name") for _ in range(ENTITIES)]
    await mentions.ensure(writing, found, origin="text")
    chunks = (await writing.execute(sa.text(LAST_CHUNKS))).all()
    new = [Mention(entity.entity_id, *chunk, "text", 1) for entity in found for chunk in chunks]
    before = await _read(writing, "chunks")
    await mentions.add(writing, new)
    return (await _read(writing, "chunks") - before) / len(new)


async def test_plans_follow_the_growth_of_an_empty_database(first, database, embedder) -> None:
    async with database.writing(FIRST) as writing:
        before = await _read(writing, "documents")
        await hybrid.put(writing, [_draft(-1)], embedder=embedder)
        assert await _read(writing, "documents") - before <= 4 * CHUNKS


async def test_checking_a_foreign_key_reads_one_row(unknown, database) -> None:
    async with database.writing(NEW) as writing:
        assert await _mention(writing, NEW) == 1


async def test_with_custom_plans_it_reads_the_chunks_of_a_user_without_statistics(unknown, database) -> None:
    async with database.writing(NEW) as writing, writing.custom_plans():
        assert await _mention(writing, NEW) > DOCUMENTS * CHUNKS / 10


async def test_storing_and_deleting_a_document_reads_its_own_rows(unknown, database, owner, embedder) -> None:
    if owner.get_server_version() < (
        17,
    ):  # it takes ten values in an array to cost more than a user without statistics
        await owner.execute("ANALYZE stepwell.mentions")
    async with database.writing(NEW) as writing:
        before = {table: await _read(writing, table) for table in TABLES}
        await hybrid.put(writing, [_draft(-1)], embedder=embedder)
        await documents.delete(writing, [unknown[3]])
        read = {table: await _read(writing, table) - before[table] for table in TABLES}
    assert max(read.values()) <= 10 * CHUNKS, read


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_a_page_by_time_of_creation_reads_its_own_documents(unknown, database, order: DocumentOrder) -> None:
    async with database.writing(NEW) as writing:
        before = await _read(writing, "documents")
        page = await documents.page(writing, limit=5, after=None, only=DocumentFilter(order=order))
        last = (page[-1].created_at, page[-1].document_id)
        await documents.page(writing, limit=5, after=last, only=DocumentFilter(order=order))
        assert await _read(writing, "documents") - before <= 12


async def test_custom_plans_end_with_their_block(unknown, database) -> None:
    async with database.writing(NEW) as writing:
        async with writing.custom_plans():
            assert await _mode(writing) == "force_custom_plan"
        assert await _mode(writing) == "force_generic_plan"


async def _mode(writing: Writing) -> str:
    return str(await writing.scalar(sa.text("SELECT current_setting('plan_cache_mode')")))
