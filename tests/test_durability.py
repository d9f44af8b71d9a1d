"""Every acknowledged document is whole after Postgres was killed in the middle of an ingest.

The real pipeline works against an embedded server of its own while all its processes are killed at random points.
STEPWELL_TEST_KILLS=20 in the environment runs more of them.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import harness
import pytest
import server_folders
from harness import Tenant, uris

from app.database import pools, transactions
from app.database.embedded import postgres
from app.database.schema import migration
from app.database.transactions import Database
from app.documents.storing import ingest
from app.documents.types import Upload

KILLS = int(os.environ.get("STEPWELL_TEST_KILLS", "2"))
A_KILL = 8
"""Documents stored between two kills."""


def _uploads() -> list[Upload]:
    """Documents of one to five chunks; no two chunks are alike, and words come again in later documents."""
    return [
        Upload(
            "\n\n".join(
                f"# Part {part}\n\nStone {n} part {part} marker{n}x. " + "Lime mortar holds. " * 20
                for part in range(1 + n % 5)
            ),
            uri=f"note-{n}",
            metadata={"n": n},
        )
        for n in range((KILLS + 2) * A_KILL)
    ]


@pytest.fixture(scope="module")
async def killable() -> AsyncIterator[postgres.EmbeddedPostgres]:
    """A server of this module's own, made to die."""
    with server_folders.temporary() as folder:
        async with postgres.EmbeddedPostgres(folder / "data", tuning=postgres.SMALL) as started:
            await migration.upgrade(started.owner_dsn, model="fake", dimension=384)
            yield started


@pytest.fixture
async def survivor(killable: postgres.EmbeddedPostgres) -> AsyncIterator[Database]:
    """The database as the service uses it: the server is restarted when it is lost."""
    opened = transactions.connect(
        killable.service_dsn, pool_size=4, pool_wait_s=30, hooks=pools.ServerHooks(killable.ensure_running)
    )
    yield opened
    await opened.close()


async def _owner(server: postgres.EmbeddedPostgres) -> asyncpg.Connection:
    await server.ensure_running()
    return await asyncpg.connect(server.dsn(user=postgres.OWNER, driver="postgresql"))


async def test_what_was_acknowledged_is_whole_after_every_kill(killable, survivor) -> None:
    tenant = Tenant(survivor)
    chance = random.Random()
    acknowledged: dict[str, int] = {}
    kills, took = 0, 0.0
    for upload in _uploads():
        began = time.perf_counter()
        storing = asyncio.create_task(_stored(tenant, upload))
        if len(acknowledged) == (kills + 1) * A_KILL and kills < KILLS:
            # Anywhere from before the write to after its commit.
            await asyncio.wait({storing}, timeout=chance.uniform(0, took))
            server_folders.kill(killable)
            kills += 1
        stored = await storing
        took = time.perf_counter() - began
        acknowledged[str(upload.uri)] = stored.chunk_count
        if len(acknowledged) % A_KILL == 1:
            await _check(killable, tenant, acknowledged, exactly=True)
    assert kills == KILLS
    answer = await tenant.ask("marker3x", mode="lexical")
    assert set(uris(answer)) == {"note-3"}


async def test_an_interrupted_ingest_leaves_whole_documents_and_a_repeated_one_completes_it(killable, survivor) -> None:
    """The caller dies with the server: nothing retries, and whatever is there must be whole."""
    tenant = Tenant(survivor)
    uploads = _uploads()[:24]
    acknowledged: dict[str, int] = {}

    async def ingesting() -> None:
        outcomes = ingest.store(uploads, tenant.user_id, tenant.services())
        async for outcome in outcomes:
            assert outcome.stored is not None
            acknowledged[str(outcome.upload.uri)] = outcome.stored.chunk_count
            reached.set()

    reached = asyncio.Event()
    running = asyncio.create_task(ingesting())
    await reached.wait()
    await asyncio.wait({running}, timeout=random.Random().uniform(0, 0.3))
    server_folders.kill(killable)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await _check(killable, tenant, acknowledged, exactly=False)
    statuses = Counter(outcome.stored and outcome.stored.status for outcome in await tenant.many(uploads))
    assert statuses["unchanged"] >= len(acknowledged)
    assert statuses["added"] + statuses["unchanged"] == len(uploads)
    again = await tenant.many(uploads)
    assert {outcome.stored and outcome.stored.status for outcome in again} == {"unchanged"}
    complete = {str(o.upload.uri): o.stored.chunk_count for o in again if o.stored}
    await _check(killable, tenant, complete, exactly=True)


async def test_a_search_works_with_the_same_database_object_after_a_kill(killable, survivor) -> None:
    tenant = Tenant(survivor)
    await tenant.add("Lime mortar.", "note")
    server_folders.kill(killable)
    assert uris(await harness.eventually(lambda: tenant.ask("lime"))) == ["note"]
    assert survivor.in_use() == 0


async def _stored(tenant: Tenant, upload: Upload) -> Any:
    return await ingest.store_one(upload, tenant.user_id, tenant.services())


async def _check(
    server: postgres.EmbeddedPostgres, tenant: Tenant, acknowledged: dict[str, int], *, exactly: bool
) -> None:
    """Every acknowledged document is complete; what else is there is complete too, with all that is derived from it."""
    owner = await _owner(server)
    try:
        rows = await owner.fetch(WHOLE, tenant.user_id)
    finally:
        await owner.close()
    stored = {row["uri"]: row["chunk_count"] for row in rows}
    assert len(stored) == len(rows), "a uri is there twice"
    assert acknowledged.items() <= stored.items()
    assert not exactly or acknowledged == stored
    assert [row["uri"] for row in rows if row["chunk_count"] != row["chunks"]] == []
    await tenant.assert_sound()


WHOLE = """
SELECT d.uri, d.chunk_count, count(c.chunk_id) AS chunks
FROM stepwell.documents AS d LEFT JOIN stepwell.chunks AS c USING (user_id, document_id)
WHERE d.user_id = $1
GROUP BY d.user_id, d.document_id
"""
