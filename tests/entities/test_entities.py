"""A transaction that changes entities leaves no user setting behind on its connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import linking
import pytest
from harness import Tenant

from app.database import transactions
from app.database.transactions import Database
from app.entities import entities
from app.entities.linking import mention_refresh
from app.entities.types import EntityFilter
from app.jobs import workers

TABLES = ("entities", "entity_names", "entity_members", "entity_words", "entity_vectors", "entity_changes", "mentions")


@pytest.fixture
async def alone(address: Any) -> AsyncIterator[Database]:
    """A pool of one connection, so that whoever comes next gets the one that was used before."""
    opened = transactions.connect(address.service_dsn, pool_size=1, pool_wait_s=30.0)
    yield opened
    await opened.close()


async def _filled(database: Database, name: str) -> Tenant:
    tenant = Tenant(database)
    await tenant.add(f"{name} wrote this.", "note")
    ana = await linking.add_entity(tenant, name, facts=("Sings.",), description="A singer.")
    await linking.add_entity(tenant, "Choir", type="team", members=(ana.entity_id,))
    return tenant


async def _names(tenant: Tenant) -> list[str]:
    listed = await entities.page(tenant.user_id, db=tenant.db, limit=50, only=EntityFilter(origin="user"))
    return [entity.name for entity in listed]


async def test_a_job_leaves_no_user_on_its_connection(alone: Database, owner: Any) -> None:
    one, two = await _filled(alone, "Ana"), await _filled(alone, "Ben")
    while await workers.run_next(one.services(), [mention_refresh.KIND]) is not None:
        pass
    assert await _names(two) == ["Ben", "Choir"]
    for tenant, name in ((one, "Ana"), (two, "Ben")):
        assert await linking.of_name(owner, tenant, name) == {("note", 0, "text", 1)}


async def test_without_a_user_no_row_of_the_entity_tables_is_read(
    alone: Database, address: Any, owner: asyncpg.Connection
) -> None:
    await _filled(alone, "Ana")
    service = await address.connect("stepwell_service")
    try:
        for table in TABLES:
            count = f"SELECT count(*) FROM stepwell.{table}"
            assert await owner.fetchval(count) > 0, "the negative control"
            assert await service.fetchval(count) == 0
    finally:
        await service.close()
