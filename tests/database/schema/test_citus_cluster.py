"""Answers, routing, upgrades and re-embedding on a real Citus cluster.

`CITUS_DSN` is the owner's address of a database on the coordinator, whose schema `stepwell` is replaced.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from citus import comparison

from app import errors
from app.database import transactions
from app.database.embedded import postgres
from app.database.schema import citus, migration, reembedding
from benchmarks import folders
from benchmarks.fake_embedder import FakeEmbedder

DSN = os.environ.get("CITUS_DSN", "")
pytestmark = pytest.mark.skipif(not DSN, reason="CITUS_DSN names no Citus coordinator")
MODEL = FakeEmbedder().model


@pytest.fixture(scope="module")
async def report() -> AsyncIterator[comparison.Report]:
    """The comparison of one user's requests with those on a single node."""
    with folders.temporary() as folder:
        yield await comparison.compare(DSN, Path(folder), shards=4)


@pytest.fixture
async def owner(report) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(DSN)
    yield connection
    await connection.close()


@pytest.fixture
async def owning() -> AsyncIterator[transactions.Database]:
    async with transactions.connect(DSN, pool_size=1, pool_wait_s=30.0) as opened:
        yield opened


@pytest.fixture
async def service() -> AsyncIterator[transactions.Database]:
    address = sa.make_url(DSN).set(username=postgres.SERVICE_ROLE).render_as_string(hide_password=False)
    async with transactions.connect(address, pool_size=2, pool_wait_s=30.0) as opened:
        yield opened


def test_every_answer_is_that_of_a_single_node(report) -> None:
    assert report.different == []
    assert report.asked > 90


def test_every_statement_that_reads_a_user_s_data_touches_one_shard(report) -> None:
    assert report.routed.others == ()
    assert report.routed.total > 30


async def test_distributing_again_changes_nothing_and_another_number_of_shards_is_refused(report) -> None:
    assert (await migration.distribute(DSN)) == (citus.Distribution(4, 2, ()), [])
    with pytest.raises(errors.BadRequest, match="4 shards"):
        await migration.distribute(DSN, shards=8)


async def test_an_upgrade_distributes_a_new_table_and_the_check_names_it_before(owner, service) -> None:
    await owner.execute("SELECT undistribute_table('stepwell.idempotency_keys')")
    with pytest.raises(errors.SchemaMismatch, match="idempotency_keys is not distributed"):
        await migration.check(service, model=MODEL.name, dimension=MODEL.dimension)
    await migration.upgrade(DSN, model=MODEL.name, dimension=MODEL.dimension)
    await migration.check(service, model=MODEL.name, dimension=MODEL.dimension)
    await migration.check_nodes(service)


async def test_the_tables_of_another_model_are_distributed_and_switched(owner, owning, service) -> None:
    await reembedding.begin(owning, "other", MODEL.dimension)
    await migration.check(service, model=MODEL.name, dimension=MODEL.dimension)
    assert not await reembedding.switch(owning)
    for table in ("embeddings", "entity_vectors"):
        await owner.execute(f"INSERT INTO stepwell.{table}_next SELECT * FROM stepwell.{table}")
    assert await reembedding.switch(owning)
    await migration.check(service, model="other", dimension=MODEL.dimension)
    await reembedding.begin(owning, "third", 32)
    await reembedding.abandon(owning)
    async with service.searching("user-0") as reading:
        assert await reading.scalar(sa.text("SELECT count(*) FROM stepwell.embeddings AS e WHERE e.user_id = 'user-0'"))


async def test_a_worker_that_lost_its_marks_is_named_and_mended(owner, service) -> None:
    unmark = "ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) NOT LEAKPROOF"
    await owner.execute("SELECT run_command_on_workers($1)", unmark)
    with pytest.raises(errors.SchemaMismatch, match="jsonb_contains"):
        await migration.check_nodes(service)
    await migration.distribute(DSN)
    await migration.check_nodes(service)
