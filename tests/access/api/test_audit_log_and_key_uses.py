"""Tests of the audit log: deletions and uses of keys are recorded without content."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import asyncpg
import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app import errors
from app.access import key_uses, keys
from app.access.store import audit as stored
from app.access.store import user_data
from app.database import transactions
from app.settings import Settings

Newcomer = Callable[..., Awaitable[Caller]]
EVENTS = "SELECT actor, action, target, counts FROM stepwell.audit_log WHERE user_id = $1 ORDER BY at, action"
USES = "SELECT scope, uses FROM stepwell.key_uses WHERE key_id = $1 ORDER BY scope"


def key_id(caller: Caller) -> str:
    return caller.key.split("_")[1]


async def events(owner: asyncpg.Connection, caller: Caller) -> list[tuple[Any, ...]]:
    """What was recorded of a user but the creation of the key."""
    return [tuple(row) for row in await owner.fetch(EVENTS, caller.user_id) if row["action"] != "key.created"]


async def uses(owner: asyncpg.Connection, caller: Caller) -> dict[str, int]:
    """How often a caller's key was used, by scope."""
    return {row["scope"]: row["uses"] for row in await owner.fetch(USES, key_id(caller))}


async def test_deletions_are_recorded_with_the_key_that_made_them_and_no_content(caller, owner) -> None:
    document = (await caller.add("The quibblewort opens at noon.", "secret-uri", title="Vault"))["document_id"]
    person = {"type": "person", "name": "Quibble Wort", "facts": ["Sleeps."]}
    entity = (await caller.client.post("/api/rag/entities", json=person)).json()["entity_id"]
    assert (await caller.client.delete(f"/api/rag/documents/{document}")).status_code == 200
    assert (await caller.client.delete(f"/api/rag/documents/{document}")).status_code == 404
    assert (await caller.client.delete(f"/api/rag/entities/{entity}")).status_code == 200
    found = await events(owner, caller)
    assert [row[:3] for row in found] == [
        (key_id(caller), "document.deleted", document),
        (key_id(caller), "entity.deleted", entity),
    ]
    assert json.loads(found[0][3])["chunks"] == 1
    assert not any(word in repr(found).lower() for word in ("quibble", "secret-uri", "vault"))


async def test_without_keys_the_actor_is_local(open_app: FastAPI, own_address: Any) -> None:
    async with harness.client(open_app) as client:
        document = (await client.post("/api/rag/documents", json={"content": "Lime."})).json()["document_id"]
        assert (await client.delete(f"/api/rag/documents/{document}")).status_code == 200
    (row,) = await own_address.fetch("SELECT user_id, actor FROM stepwell.audit_log WHERE target = $1", document)
    assert tuple(row) == ("local", "local")


async def test_uses_of_keys_are_counted_by_scope_and_written_by_a_flush_only(app, new_caller, database, owner) -> None:
    caller, idle = await new_caller("search", "write"), await new_caller("search")
    await caller.add("Lime.")
    for _ in range(3):
        await caller.search("lime")
    assert (await idle.client.post("/api/rag/documents", json={"content": "x"})).status_code == 403
    assert await uses(owner, caller) == {}
    await key_uses.flush(app.state.key_uses, db=database)
    assert await uses(owner, caller) == {"search": 3, "write": 1}
    assert await uses(owner, idle) == {}, "a request that was refused is no use"
    await caller.search("lime")
    await key_uses.flush(app.state.key_uses, db=database)
    await key_uses.flush(app.state.key_uses, db=database)
    assert await uses(owner, caller) == {"search": 4, "write": 1}


async def test_a_service_that_stops_writes_its_last_uses(database, owner, embedder) -> None:
    key = await harness.create_key(database, harness.new_user())
    services = await harness.services(database, embedder)
    async with harness.calling(Settings(auth="api_key"), services, **{"X-API-Key": key}) as client:
        assert (await client.get("/api/rag/stats")).status_code == 200
    assert await owner.fetchval("SELECT uses FROM stepwell.key_uses WHERE key_id = $1", key.split("_")[1]) == 1


async def test_uses_are_kept_after_a_failed_flush(caller, database, owner) -> None:
    counted = key_uses.KeyUses()
    away = transactions.connect("postgresql://stepwell_service@127.0.0.1:9/db", pool_wait_s=0.1)
    counted[key_id(caller), "search"] += 5
    with pytest.raises(errors.DatabaseUnavailable):
        await key_uses.flush(counted, db=away)
    counted[key_id(caller), "search"] += 1
    await asyncio.gather(key_uses.flush(counted, db=database), key_uses.flush(counted, db=database))
    assert await uses(owner, caller) == {"search": 6}


async def test_counts_with_unknown_keys_or_scopes_or_negative_numbers_are_skipped(caller, database, owner) -> None:
    counted = key_uses.KeyUses()
    for pair in (("0" * 12, "search"), (key_id(caller), "root")):
        counted[pair] += 1
    counted[key_id(caller), "write"] -= 5
    await key_uses.flush(counted, db=database)
    assert await uses(owner, caller) == {}


async def test_pruning_deletes_what_is_older_and_nothing_else(new_caller, database, owner) -> None:
    old, new = await new_caller(), await new_caller()
    counted = key_uses.KeyUses()
    for caller in (old, new):
        counted[key_id(caller), "search"] += 1
    await key_uses.flush(counted, db=database)
    for column, days in (("expires_at", 91), ("revoked_at", 91), ("revoked_at", 89), ("expires_at", -1)):
        key = await harness.create_key(database, old.user_id)
        ended = f"UPDATE stepwell.api_keys SET {column} = now() - make_interval(days => $2) WHERE key_id = $1"
        await owner.execute(ended, key.split("_")[1], days)
    for column, table in (("at", "audit_log"), ("last_used_at", "key_uses")):
        aged = f"UPDATE stepwell.{table} SET {column} = {column} - interval '91 days' WHERE user_id = $1"
        await owner.execute(aged, old.user_id)
    async with harness.as_owner(database) as as_owner, as_owner.shared() as reading:
        assert await stored.prune(reading, days=90) == {"audit_log": 5, "key_uses": 1, "api_keys": 2}
        assert await stored.events(reading, user_id=old.user_id, limit=10) == []
        assert [use["uses"] for use in await stored.key_uses(reading, user_id=new.user_id, limit=10)] == [1]


async def test_a_key_is_rotated_once_whatever_was_pruned(new_caller, database, owner) -> None:
    caller = await new_caller("search")
    aged = "UPDATE stepwell.audit_log SET at = at - make_interval(days => 3) WHERE user_id = $1"
    async with harness.as_owner(database) as as_owner:
        await keys.rotate(key_id(caller), db=as_owner, grace=timedelta(days=7), actor="test")
        await owner.execute(aged, caller.user_id)
        async with as_owner.shared() as pruning:
            await stored.prune(pruning, days=2)
        with pytest.raises(errors.Conflict):
            await keys.rotate(key_id(caller), db=as_owner, grace=timedelta(days=7), actor="test")
        await owner.execute("DELETE FROM stepwell.api_keys WHERE key_id = $1", key_id(caller))
        async with as_owner.shared() as pruning:
            assert (await stored.prune(pruning, days=2))["audit_log"] == 1


async def test_what_a_running_write_stores_after_a_deletion_of_its_user_is_counted(
    tenant: harness.Tenant, address: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tenant.add("Lime.", "lime.md")

    async def write_meanwhile(_seconds: float) -> None:
        await tenant.add("Clay.", "clay.md")

    monkeypatch.setattr(user_data, "asyncio", SimpleNamespace(sleep=write_meanwhile))
    async with transactions.connect(address.owner_dsn, pool_size=1) as owner:
        deleted, left = await user_data.delete(tenant.user_id, db=owner, actor="test")
    assert (deleted["documents"], left["documents"]) == (1, 1)
