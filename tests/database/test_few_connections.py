"""Where the server grants fewer connections than the pool may open, transactions wait for those that there are."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from app import errors
from app.database import transactions

GRANTED = 2


@pytest.fixture
async def few(owner, address):
    """A function that opens a pool of ten for a role of which the server accepts two connections."""
    await owner.execute(f"CREATE ROLE few LOGIN CONNECTION LIMIT {GRANTED}")
    dsn = address.server.dsn(user="few", database=address.name)
    opened = []

    def connect(pool_wait_s):
        opened.append(transactions.connect(dsn, pool_size=10, pool_wait_s=pool_wait_s))
        return opened[-1]

    yield connect
    for database in opened:
        await database.close()
    await owner.execute("DROP ROLE few")


async def sleep(database, seconds):
    async with database.shared() as shared:
        await shared.scalar(sa.text(f"SELECT CAST(pg_sleep({seconds}) AS text)"))


async def test_transactions_share_the_connections_that_the_server_grants(few):
    database = few(pool_wait_s=30.0)
    for _ in range(2):
        await asyncio.gather(*(sleep(database, 0.01) for _ in range(20)))
    assert database.pool.in_use() == 0


async def test_a_transaction_that_waits_too_long_is_unavailable(few):
    database = few(pool_wait_s=0.2)
    async with database.shared(), database.shared():
        with pytest.raises(errors.DatabaseUnavailable, match="All database connections are busy"):
            await sleep(database, 0)


async def test_where_none_is_granted_the_database_is_unavailable(few):
    first, second = few(pool_wait_s=0.2), few(pool_wait_s=0.2)
    async with first.shared(), first.shared():
        with pytest.raises(errors.DatabaseUnavailable):
            await sleep(second, 0)
    await sleep(first, 0)
