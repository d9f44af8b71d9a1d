"""The job that links names reads rows by their keys, also for a user whom the planner's statistics do not contain.

ANALYZE may run long after a bulk load. A plan for the values of such a user reads all mentions for each name and all
documents for each chunk, so the job uses generic plans. Only the documents that are left to it are found by a plan for
their version: a generic one reads all of the user's documents where there are many users.
"""

from typing import Any

import asyncpg
import linking
import pytest
import sqlalchemy as sa
from harness import Tenant

from app.database import transactions
from app.database.transactions import Database
from app.entities import operations as entities

DOCUMENTS, PEOPLE = 80, 40
READ = """
SELECT relname, seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_user_tables
WHERE relid IN ('stepwell.mentions'::regclass, 'stepwell.documents'::regclass, 'stepwell.chunks'::regclass)
"""
CROWD = """
SET session_replication_role = replica;
INSERT INTO stepwell.documents (
    user_id, document_id, identity, title, config, content, content_hash, attributes_hash, chunk_count,
    names_version)
SELECT 'crowd', gen_random_uuid(), sha256(uuid_send(gen_random_uuid())), d.title, d.config, d.content, d.content_hash,
       d.attributes_hash, d.chunk_count, d.names_version
FROM stepwell.documents AS d CROSS JOIN generate_series(1, 60);
INSERT INTO stepwell.mentions SELECT (jsonb_populate_record(m, jsonb_build_object(
    'user_id', 'crowd', 'entity_id', gen_random_uuid(), 'chunk_no', 1000 * g + m.chunk_no))).*
FROM stepwell.mentions AS m CROSS JOIN generate_series(1, 60) AS g
"""
"""Adds a user with sixty times as many documents and mentions, whose indexes are as deep as those of a large table."""
MANY_USERS = """
INSERT INTO stepwell.documents (
    user_id, document_id, identity, title, config, content, content_hash, attributes_hash, chunk_count,
    names_version)
SELECT 'user ' || g, d.document_id, d.identity, d.title, d.config, d.content, d.content_hash, d.attributes_hash,
       d.chunk_count, d.names_version
FROM stepwell.documents AS d CROSS JOIN generate_series(1, 100) AS g
WHERE d.user_id = $1
"""
"""Gives a hundred users the documents of one."""
COUNT = "SELECT pg_stat_force_next_flush()"
"""The connection reports what it has read with the end of this transaction."""


async def _load(database: Database) -> Tenant:
    """A new user whose documents name people that are not known yet."""
    tenant = Tenant(database)
    texts = {f"{n}": f"Minutes {n} by Person {n % PEOPLE} and Person {(n + 1) % PEOPLE}." for n in range(DOCUMENTS)}
    await tenant.add_all(texts)
    await linking.refresh(tenant)
    return tenant


@pytest.fixture
async def alone(address: Any) -> Any:
    """The database over one connection, which alone counts what it reads."""
    async with transactions.connect(address.service_dsn, pool_size=1, pool_wait_s=30.0) as opened:
        yield opened


async def test_a_job_after_bulk_loads_without_analyze_reads_few_rows(alone, owner) -> None:
    await _load(alone)
    await owner.execute("ANALYZE")
    await owner.execute(CROWD)
    tenant = await _load(alone)
    drafts = [linking.person(f"Person {n}") for n in range(PEOPLE)]
    await entities.add(drafts, tenant.user_id, db=alone, embedder=tenant.embedder)
    before = await _count_reads(alone, owner)
    assert await linking.refresh(tenant) == DOCUMENTS
    after = await _count_reads(alone, owner)
    read = {table: rows - before[table] for table, rows in after.items()}
    assert max(read.values()) < 10 * DOCUMENTS, read


async def test_a_job_for_a_name_does_not_read_the_documents_that_are_linked(alone, owner) -> None:
    tenant = await _load(alone)
    await owner.execute(MANY_USERS, tenant.user_id)
    await owner.execute("ANALYZE")
    await entities.add([linking.person("Ilse Brandt")], tenant.user_id, db=alone, embedder=tenant.embedder)
    before = await _count_reads(alone, owner)
    assert await linking.refresh(tenant) == 0
    after = await _count_reads(alone, owner)
    assert after["documents"] - before["documents"] < DOCUMENTS / 2


async def _count_reads(alone: Database, owner: asyncpg.Connection) -> dict[str, int]:
    async with alone.shared() as shared:
        await shared.scalar(sa.text(COUNT))
    return {row["relname"]: row["rows"] for row in await owner.fetch(READ)}
