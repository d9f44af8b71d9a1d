"""Cached names are up to date in every process, and only changes are read."""

import asyncio
import gc
import time
import tracemalloc
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import linking
import pytest
from harness import Tenant

from app.access.store import user_data
from app.database import transactions
from app.database.transactions import Database
from app.entities import operations as entities
from app.entities.linking import gazetteer_cache
from app.entities.linking.gazetteer_cache import UserNames
from app.entities.store import mentions, name_changes
from app.text.names.gazetteer import Gazetteer
from app.text.names.metadata_names import Tag

LETTERS = str.maketrans("0123456789", "ghijklmnop")
"""Makes words of letters out of hexadecimal numbers."""


async def _current(database: Database, tenant: Tenant) -> UserNames:
    async with database.reading(tenant.user_id) as reading:
        return await gazetteer_cache.current(reading)


def _found(names: UserNames, text: str) -> list[str]:
    return [found.key for found in names.gazetteer.find(text)]


async def test_a_change_by_another_process_takes_effect_at_once(tenant: Tenant, elsewhere: Database) -> None:
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == []
    ana = await linking.add_entity(tenant, "Ana")
    await linking.add_entity(tenant, "Ben")
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == ["ana", "ben"]
    await entities.remove(ana.entity_id, tenant.user_id, db=tenant.db)
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == ["ben"]


async def test_searches_at_the_same_time_read_the_names_once(tenant: Tenant, elsewhere: Database) -> None:
    await linking.add_entity(tenant, "Ana")
    async with elsewhere.reading(tenant.user_id) as one, elsewhere.reading(tenant.user_id) as other:
        found = await asyncio.gather(gazetteer_cache.current(one), gazetteer_cache.current(other))
    assert found[0].gazetteer is found[1].gazetteer


async def test_the_names_of_a_deleted_user_are_not_those_of_a_later_one(
    tenant: Tenant, address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_data, "SETTLE_S", 0)
    for name in ("Ana", "Ben"):
        await linking.add_entity(tenant, name)
        assert _found(await _current(tenant.db, tenant), "Ana and Ben") == [name.lower()]
        async with transactions.connect(address.owner_dsn, pool_size=1) as owner:
            await user_data.delete(tenant.user_id, db=owner, actor="test")


async def test_names_of_a_failed_transaction_are_not_cached(tenant: Tenant) -> None:
    await linking.add_entity(tenant, "Ana")
    await _current(tenant.db, tenant)

    async def failing() -> None:
        async with tenant.db.locking(tenant.user_id) as writing:
            named = Tag("ben", "Ben", "person", "attendee")
            await mentions.ensure(writing, [named], origin="metadata")
            await name_changes.record(writing, {"ben": "Ben"})
            assert _found(await gazetteer_cache.uncommitted(writing), "Ana, Ben") == ["ana", "ben"]
            raise RuntimeError("fails")

    with pytest.raises(RuntimeError, match="fails"):
        await failing()
    assert _found(await _current(tenant.db, tenant), "Ana, Ben") == ["ana"]
    await linking.add_entity(tenant, "Cy")
    assert _found(await _current(tenant.db, tenant), "Ana, Ben, Cy") == ["ana", "cy"]


async def test_the_cache_is_bounded_and_separate_by_user(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gazetteer_cache, "MAX_NAMES", 60)
    monkeypatch.setattr(gazetteer_cache, "_caches", WeakKeyDictionary())
    worlds = [Tenant(database) for _ in range(4)]
    for n, one in enumerate(worlds):
        await linking.add_entity(one, f"Person {n}", "Boss")
    for _ in range(2):
        for n, one in enumerate(worlds):
            assert _found(await _current(database, one), "Person 0, Person 1, Person 2, Person 3") == [f"person {n}"]


async def test_the_words_of_removed_names_do_not_pile_up(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gazetteer_cache, "MAX_CHANGES", 3)
    await linking.add_entity(tenant, "Ana Silva")
    words = []
    for name in ("Ben Okafor", "Cy Marsh", "Dee Holt", "Eve Lund", "Finn Ash", "Gus Vale", "Hal Ivers", "Ida Quist"):
        added = await linking.add_entity(tenant, name)
        words.append(len((await _current(tenant.db, tenant)).gazetteer._ids))
        await entities.remove(added.entity_id, tenant.user_id, db=tenant.db)
        assert _found(await _current(tenant.db, tenant), f"{name}, Ana Silva") == ["ana silva"]
    assert words[-1] < max(words)


@pytest.mark.parametrize("count", [5, 20, 100, 2_000])
async def test_the_size_of_cached_names_is_their_memory(count: int) -> None:
    entries = [(f"{n:04x} {n * 2654435761 % 2**32:08x}".translate(LETTERS), uuid4()) for n in range(count)]
    users = range(2_000 // count)  # so many that what else is allocated counts little
    tracemalloc.start()
    try:
        cached = [UserNames(1, Gazetteer.build(entries)) for _ in users]
        for names in cached:
            await names.fuzzy_index()
            await names.parts()
        gc.collect()
        used, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 300 < used / sum(map(gazetteer_cache.cached_size, cached)) < 1_100


async def test_a_removed_name_is_deleted_everywhere_when_processes_no_longer_need_it(
    tenant: Tenant, elsewhere: Database, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = await linking.add_entity(tenant, "Ana")
    await linking.refresh(tenant)
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == ["ana"]
    await entities.remove(ana.entity_id, tenant.user_id, db=tenant.db)
    await linking.add_entity(tenant, "Ben")
    kept = "SELECT name, pending_since IS NULL FROM stepwell.entity_changes WHERE user_id = $1 ORDER BY name"
    monkeypatch.setattr(name_changes, "KEPT_MS", -60_000)
    async with tenant.db.shared() as shared:
        await name_changes.expire(shared, None)
    assert [tuple(row) for row in await owner.fetch(kept, tenant.user_id)] == [("Ana", False), ("Ben", False)]
    monkeypatch.undo()
    await linking.refresh(tenant)
    async with tenant.db.shared() as shared:
        await name_changes.expire(shared, None)
    assert [tuple(row) for row in await owner.fetch(kept, tenant.user_id)] == [("Ana", True), ("Ben", True)]
    monkeypatch.setattr(name_changes, "KEPT_MS", -60_000)
    async with tenant.db.shared() as shared:
        assert await name_changes.expire(shared, None) >= 2
    assert await owner.fetch(kept, tenant.user_id) == []
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == ["ben"]


@pytest.mark.parametrize("days", [-3, 3])
async def test_a_process_whose_clock_is_wrong_hides_no_name_from_another_one(
    tenant: Tenant, elsewhere: Database, owner: Any, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    await linking.add_entity(tenant, "Ana")
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == ["ana"]
    await linking.add_entity(tenant, "Ben")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + days * 86_400)
    await linking.refresh(tenant)
    async with tenant.db.shared() as shared:
        await name_changes.expire(shared, None)
    assert len(await owner.fetch("SELECT FROM stepwell.entity_changes WHERE user_id = $1", tenant.user_id)) == 2
    monkeypatch.undo()
    assert _found(await _current(elsewhere, tenant), "Ana and Ben") == ["ana", "ben"]
