"""Repair rebuilds derived rows from the stored texts, only those that differ, beside other writers."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
import harness
import pytest

from app.database import transactions
from app.database.schema import tables
from app.derived_row_repairs import Damage
from app.documents import operations as documents
from app.documents.types import Upload
from app.entities import operations as entities
from app.entities.types import EntityDraft
from app.maintenance import repair
from app.maintenance.store import repairs
from app.text.names import metadata_names

NOTES = Path(__file__).parents[2] / "app" / "samples" / "notes"
TABLES = {table.name for table in tables.of_users()}
DERIVED = TABLES & {
    "chunks", "postings", "lexemes", "text_statistics", "embeddings", "mentions", "headings", "entities", "facet_keys",
    "facet_values",
}  # fmt: skip


class Repaired:
    """A database of its own with the samples of one user, the owner's view of it, and what repair does to it."""

    def __init__(self, tenant: harness.Tenant, owner: transactions.Database, connection) -> None:
        self.tenant, self.owner, self.connection = tenant, owner, connection

    async def repair(self) -> Damage:
        tenant = self.tenant
        return await repair.run(tenant.user_id, replace(tenant.services(), db=self.owner))

    async def check(self) -> Damage:
        """Check the user completely."""
        return (await repair.check(self.tenant.user_id, db=self.owner, keys=metadata_names.KEYS)).damage

    async def rows(self) -> dict[str, list[str]]:
        """The derived rows as text, without what a rewrite may change: when an entity was first seen, and ids."""
        return {
            name: [
                row[0]
                for row in await self.connection.fetch(
                    f"SELECT (to_jsonb(t) - $1::text[])::text FROM {tables.SCHEMA}.{name} AS t ORDER BY 1",
                    ["created_at", "updated_at", "tail_no", "tail_size", "first_no", "id"],
                )
            ]
            for name in DERIVED
        }


@pytest.fixture(scope="module")
async def populated(new_database, template) -> tuple[str, str]:
    """The name of a database with the samples of one user, and the user."""
    address = await new_database(template)
    async with _opened(address, harness.new_user()) as repaired:
        tenant = repaired.tenant
        files = sorted(NOTES.rglob("*.md"))[:7]
        await tenant.add_all(Upload(file.read_text(encoding="utf-8"), uri=file.name) for file in files)
        await tenant.add("", "title", title="Lime for the Halyard rota")
        draft = EntityDraft(type="material", name="Lime", aliases=("lime mortar",))
        await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
        assert await repaired.repair() == Damage()
    return address.name, tenant.user_id


@pytest.fixture
async def repaired(new_database, populated) -> AsyncIterator[Repaired]:
    """A copy of that database."""
    name, user_id = populated
    async with _opened(await new_database(name), user_id) as opened:
        yield opened


@asynccontextmanager
async def _opened(address, user_id: str) -> AsyncIterator[Repaired]:
    async with (
        transactions.connect(address.service_dsn, pool_size=4) as service,
        transactions.connect(address.owner_dsn, pool_size=2) as owner,
    ):
        connection = await address.connect()
        yield Repaired(harness.Tenant(service, user_id=user_id), owner, connection)
        await connection.close()


CORRUPTIONS = (
    "UPDATE stepwell.chunks SET tsv = '' WHERE chunk_no % 7 = 0",
    "UPDATE stepwell.chunks SET length = length + 1 WHERE chunk_no % 11 = 0",
    "UPDATE stepwell.postings SET items[1] = items[1] + (1 << 16) WHERE first_no % 5 = 0",
    "DELETE FROM stepwell.postings WHERE first_no % 5 = 1",
    "INSERT INTO stepwell.postings SELECT user_id, 'stray', 1, ARRAY[(1::bigint << 24) | 65537] FROM stepwell.tenants",
    "UPDATE stepwell.lexemes SET df = df + 1 WHERE df = 3",
    "UPDATE stepwell.text_statistics SET tokens = tokens * 2, chunks = chunks - 1",
    "DELETE FROM stepwell.embeddings WHERE chunk_no % 3 = 0",
    "DELETE FROM stepwell.mentions WHERE chunk_no % 4 = 0",
    "DELETE FROM stepwell.headings WHERE chunk_no % 4 = 1",
    "UPDATE stepwell.facet_values SET documents = documents + 1",
    "INSERT INTO stepwell.facet_values SELECT user_id, 'stray', 'a', 1, '\"a\"', 2 FROM stepwell.tenants",
    "UPDATE stepwell.facet_keys SET distinct_values = 7, type = type || '-'",
)


async def corrupt(connection: asyncpg.Connection) -> None:
    for corruption in CORRUPTIONS:
        if re.findall(r"stepwell\.(\w+)", corruption)[0] in TABLES:
            await connection.execute(corruption)


async def test_everything_that_was_corrupted_is_as_it_was_and_a_second_repair_finds_nothing(repaired):
    before, found = await repaired.rows(), await repaired.tenant.ask("Halyard rota")
    await corrupt(repaired.connection)
    would = await repaired.check()
    assert would.keys() == {one.kind for one in repair.every()}
    assert await repaired.check() == would, "a check changes nothing"
    done = await repaired.repair()
    assert done.keys() == {one.kind for one in repair.every()}
    assert await repaired.rows() == before
    assert (await repaired.tenant.ask("Halyard rota")).hits == found.hits
    assert await repaired.check() == Damage()
    assert await repaired.repair() == Damage()


async def test_a_difference_of_statistics_that_two_repairs_have_found_is_added_once(repaired):
    before, tenant = await repaired.rows(), repaired.tenant
    await repaired.connection.execute("UPDATE stepwell.text_statistics SET tokens = tokens * 2")
    async with tenant.db.reading(tenant.user_id) as reading:
        found = await repairs.drift(reading)
    for _repair in range(2):
        async with tenant.db.locking(tenant.user_id) as writing:
            await repairs.add_drift(writing, found)
    assert await repaired.rows() == before


async def test_tables_that_were_emptied_are_filled_again(repaired):
    before = await repaired.rows()
    for emptied in (("postings", "embeddings", "mentions", "facet_keys"), ("lexemes", "text_statistics", "headings")):
        for table in DERIVED.intersection(emptied):
            await repaired.connection.execute(f"TRUNCATE stepwell.{table} CASCADE")
        assert await repaired.repair(), emptied
        assert await repaired.rows() == before, emptied


async def test_documents_that_are_stored_replaced_and_deleted_during_a_repair_stay_right(repaired, monkeypatch):
    """Each kind of change happens between the comparison of the postings and their rewriting."""
    tenant = repaired.tenant
    await tenant.add("Lime mortar sets slowly.", "replaced")
    gone = await tenant.add("Lime plaster sets fast.", "deleted")
    await repaired.connection.execute("UPDATE stepwell.postings SET items[1] = items[1] + (1 << 16)")
    compare = repairs.wrong_postings

    async def interrupted(*args, **kwargs):
        monkeypatch.setattr(repairs, "wrong_postings", compare)
        found = await compare(*args, **kwargs)
        await tenant.add("Mortar of lime and sand, lime and sand.", "added")
        await tenant.add("Lime mortar is soft.", "replaced")
        await documents.delete(gone.document_id, tenant.user_id, db=tenant.db)
        return found

    monkeypatch.setattr(repairs, "wrong_postings", interrupted)
    assert (await repaired.repair())["postings"]
    assert await repaired.check() == Damage()
    assert harness.uris(await tenant.ask("sand"))[0] == "added"


async def test_writers_and_searches_go_on_during_a_repair_and_the_result_is_right(repaired):
    tenant = repaired.tenant
    await corrupt(repaired.connection)

    async def write(number: int) -> None:
        await tenant.add(f"Note {number} about lime and Mara Veit.", f"note-{number % 5}")
        assert (await tenant.ask("lime")).hits

    async with asyncio.TaskGroup() as group:
        repairing = group.create_task(repaired.repair())
        number = 0
        while not repairing.done():
            await write(number)
            number += 1
    assert number
    await repaired.repair()
    assert await repaired.check() == Damage()
