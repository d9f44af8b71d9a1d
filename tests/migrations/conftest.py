"""Loads a populated database of revision 0040, on which each later revision is tested."""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.database import transactions

DUMP = Path(__file__).with_name("populated_0040.sql.gz")
"""A `pg_dump --inserts` of a database that commit b8c21b15 has filled, with vectors of 64 dimensions.

`ana` has 19 documents of the samples, entities, synonyms, a calibration, feedback, and a queued job that links texts
again. `bob` has fewer, a source, a key with filters, and a document that a job has prepared, but not yet published.
"""


@pytest.fixture
async def populated(new_database: Any, template: str) -> Any:
    """A database of revision 0040 with rows in nearly every table; `template` has created the roles."""
    address = await new_database()
    owner = await address.connect()
    try:
        script = gzip.decompress(DUMP.read_bytes()).decode()
        await owner.execute(script.replace("SET transaction_timeout = 0;", "", 1))  # unknown to servers before 17
    finally:
        await owner.close()
    return address


@pytest.fixture
async def owner(populated: Any) -> AsyncIterator[asyncpg.Connection]:
    """A connection to the populated database as its owner."""
    connection = await populated.connect()
    yield connection
    await connection.close()


@pytest.fixture
async def service(populated: Any) -> AsyncIterator[transactions.Database]:
    """The populated database, opened as the service's role."""
    opened = transactions.connect(populated.service_dsn, pool_size=1)
    yield opened
    await opened.close()
