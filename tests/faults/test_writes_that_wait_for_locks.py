"""Writes of one user that wait for a lock do not block other users, and are refused with Retry-After."""

import asyncio
from typing import Any

import harness
import pytest
import running_service
from harness import Tenant
from running_service import DOCUMENTS, SEARCH, unavailable, until

from app import errors
from app.access import keys as api_keys
from app.database import transactions
from app.database.transactions import Database, TimeLimits
from app.settings import Settings

LOCK = "SELECT * FROM stepwell.tenants WHERE user_id = $1 FOR UPDATE"


async def test_writes_of_one_user_that_wait_for_a_lock_leave_connections_for_reads_and_other_users(
    address: Any, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "LOOKUP_S", 30.0)  # a machine may stall for a second; other tests cover the limit
    limits, greedy = {"pool_size": 4, "limits": TimeLimits(lock_ms=700), "pool_wait_s": 1.0}, harness.new_user("greedy")
    async with running_service.serving(address, Settings(auth="api_key"), pool=limits) as (client, database, _app):
        await Tenant(database, user_id=greedy).add("We use lime.", "lime")
        keys = await running_service.keys(database, greedy, harness.new_user("modest"))
        async with owner.transaction():
            await owner.execute(LOCK.replace("$1", f"'{greedy}'"))
            writes = [
                asyncio.create_task(client.post(DOCUMENTS, json={"content": f"Clay {n}."}, headers=keys[0]))
                for n in range(5)
            ]
            await until(lambda: _waits(address))
            stored = await client.post(DOCUMENTS, json={"content": "Chalk."}, headers=keys[1])
            listed = await client.get(DOCUMENTS, headers=keys[0])
            found = await client.post(SEARCH, json={"query": "lime"}, headers=keys[0])
            assert [one.status_code for one in (stored, listed, found)] == [201, 200, 200]
            for response in await asyncio.gather(*writes):
                unavailable(response, "busy")
        assert (await client.post(DOCUMENTS, json={"content": "Clay."}, headers=keys[0])).status_code == 201
        await until(lambda: database.in_use() == 0)


async def test_writes_of_all_users_hold_at_most_half_of_the_connections(address, monkeypatch) -> None:
    monkeypatch.setattr(transactions, "TURN_S", 0.1)
    written = asyncio.Event()

    async def write(begun: asyncio.Event) -> None:
        async with database.writing(harness.new_user()):
            begun.set()
            await written.wait()

    async with transactions.connect(address.service_dsn, pool_size=4) as database:
        begun = [asyncio.Event() for _ in range(2)]
        writers = [asyncio.create_task(write(one)) for one in begun]
        await asyncio.gather(*(one.wait() for one in begun))
        with pytest.raises(errors.Busy):
            await write(asyncio.Event())
        assert await asyncio.gather(*(_reads(database) for _ in range(4))) == [None] * 4
        written.set()
        await asyncio.gather(*writers)
        await write(asyncio.Event())


async def test_a_cancelled_write_releases_its_turn(address: Any) -> None:
    user_id, begun = harness.new_user(), asyncio.Event()

    async def write() -> None:
        async with database.writing(user_id):
            begun.set()
            await asyncio.Event().wait()

    async with transactions.connect(address.service_dsn, pool_size=2) as database:
        writing, waiting = asyncio.create_task(write()), asyncio.create_task(_writes(database, user_id))
        await begun.wait()
        writing.cancel()
        await waiting
        assert database.in_use() == 0


async def _writes(database: Database, user_id: str) -> None:
    async with database.writing(user_id):
        pass


async def _reads(database: Database) -> None:
    async with database.reading(harness.new_user()):
        pass


async def _waits(address: Any) -> bool:
    return bool((await address.fetch(harness.WAITING))[0]["count"])
