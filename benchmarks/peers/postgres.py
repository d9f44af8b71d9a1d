"""Connects to the database of a peer that is stored in Postgres; imports asyncpg only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """Yields a connection in autocommit mode."""
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def settle(dsn: str) -> None:
    """Vacuums and analyses the database, as autovacuum would do in time."""
    async with connected(dsn) as connection:
        await connection.execute("VACUUM (ANALYZE)")
        await connection.execute("CHECKPOINT")


async def size(dsn: str) -> int:
    """Returns the bytes of all tables, with indexes and TOAST."""
    async with connected(dsn) as connection:
        return int(await connection.fetchval(_SIZE))


def as_text(vector: Sequence[float]) -> str:
    """Returns a vector in pgvector's text form."""
    return f"[{','.join(f'{value:.9g}' for value in vector)}]"
