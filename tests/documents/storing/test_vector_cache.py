"""Vectors of passages are kept for texts that a user stores again, up to a number, and never for another user."""

from __future__ import annotations

import dataclasses
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from harness import Tenant, new_user, posing_as

from app.database import transactions
from app.database.schema import tables
from app.database.transactions import Database, TimeLimits
from app.documents import documents
from app.documents.store import embedding_cache
from app.documents.store.embedding_cache import CachedModel
from app.documents.storing import large_documents
from app.documents.types import CacheUse
from app.services import Services, VectorCache
from benchmarks.fake_embedder import FakeEmbedder


@dataclasses.dataclass(slots=True)
class CachingTenant(Tenant):
    """A user whose vectors of passages are cached."""

    cache: VectorCache = dataclasses.field(default_factory=lambda: VectorCache(100))

    def services(self, **fields: Any) -> Services:
        """The services with which pipelines run for this user."""
        return dataclasses.replace(super(CachingTenant, self).services(**fields), cache=self.cache)

    async def store_again(self, content: str) -> int:
        """Delete the user's documents and store a text; returns how many vectors were computed."""
        for document in await documents.page(self.user_id, db=self.db, limit=100, after=None):
            await documents.delete(document.document_id, self.user_id, db=self.db)
        return (await self.add(content)).embedded

    async def use(self) -> CacheUse:
        """How the user's cached vectors were used."""
        return (await documents.stats(self.user_id, db=self.db)).cache


@pytest.fixture
def tenant(database: Database) -> CachingTenant:
    """A new user with the fake embedder and a cache."""
    return CachingTenant(database)


async def test_a_text_that_is_stored_again_after_its_deletion_is_not_embedded_again(tenant: CachingTenant) -> None:
    assert await tenant.store_again("Lime mortar.") == 1
    before = await tenant.ask("lime mortar")
    assert await tenant.store_again("Lime mortar.") == 0
    after = await tenant.ask("lime mortar")
    assert after.hits[0].candidate.vector_score == before.hits[0].candidate.vector_score
    assert await tenant.use() == CacheUse(entries=1, hits=1)
    assert (await tenant.use()).hit_rate == 0.5
    assert (tenant.cache.hits, tenant.cache.misses) == (1, 1)


async def test_entries_belong_to_one_user_one_model_and_one_dimension(tenant: CachingTenant) -> None:
    await tenant.add("Lime mortar.")
    other = CachingTenant(tenant.db, user_id=new_user())
    assert (await other.add("Lime mortar.")).embedded == 1
    tenant.embedder = FakeEmbedder(name="another")
    assert await tenant.store_again("Lime mortar.") == 1
    assert (await tenant.use()).entries == 2
    async with tenant.db.reading(tenant.user_id) as reading:
        hashes = list(await reading.scalars(_hashes(tenant.user_id)))
        assert len(await embedding_cache.find(reading, CachedModel("fake", 384), hashes)) == 1
        assert await embedding_cache.find(reading, CachedModel("fake", 64), hashes) == {}
        assert await embedding_cache.find(reading, CachedModel("fake", 384, "query"), hashes) == {}
        posing = posing_as(reading, other.user_id)
        assert await embedding_cache.find(posing, CachedModel("fake", 384), hashes) == {}


def _hashes(user_id: str) -> Any:
    column = tables.embedding_cache.c
    return sa.select(column.text_hash).where(column.user_id == user_id)


async def test_the_least_recently_used_entries_beyond_the_size_are_evicted(tenant: CachingTenant) -> None:
    tenant.cache.size = 3
    for n in range(3):
        await tenant.store_again(f"Stone {n}.")
    assert await tenant.store_again("Stone 0.") == 0
    await tenant.store_again("Stone 3.")
    assert (await tenant.use()).entries == 3
    assert await tenant.store_again("Stone 0.") == 0
    assert await tenant.store_again("Stone 1.") == 1


async def test_large_documents_use_the_cache(tenant: CachingTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_documents, "LARGE", 50)
    text = "# Lime\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"Stone {n} lies in lime mortar. " * 20 for n in range(9))
    first = await tenant.store_again(text)
    assert first > 1
    assert await tenant.store_again(text) == 0
    assert (await tenant.use()) == CacheUse(entries=first, hits=first)


async def test_a_cache_that_cannot_be_written_does_not_fail_the_ingest(
    address: Any, owner: asyncpg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    database = transactions.connect(address.service_dsn, limits=TimeLimits(lock_ms=100))
    try:
        async with owner.transaction():
            await owner.execute("LOCK TABLE stepwell.embedding_cache IN SHARE MODE")
            assert (await CachingTenant(database).add("Lime mortar.")).status == "added"
        assert "vectors were not cached: busy" in caplog.text
    finally:
        await database.close()
