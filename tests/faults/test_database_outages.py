"""Responses while Postgres is down, closes connections, has none free or is slow, and to clients that leave."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
import running_service
import server_folders
from harness import Tenant
from running_service import DOCUMENTS, SEARCH, locked_chunks, unavailable, until

from app import errors, main, runtime
from app.database import pools, transactions
from app.database.embedded import postgres
from app.database.transactions import Database, TimeLimits
from app.services import Budget
from app.settings import Settings

LIME = {"query": "lime"}
SIMILAR, NEAR = "/api/rag/similar", {"vector": [0.1] * 384}


@asynccontextmanager
async def _serving(
    address: Any, settings: Settings | None = None, **given: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, Database, Any]]:
    """The service on one database with a note in it, over a socket."""
    async with running_service.serving(address, settings, **given) as (client, database, app):
        await Tenant(database, user_id="local").add("We use lime.", "lime")
        yield client, database, app


async def _hits(client: httpx.AsyncClient) -> int:
    response = await client.post(SEARCH, json=LIME)
    assert response.status_code == 200, response.text
    return len(response.json()["results"])


async def _cannot_restart() -> None:
    raise errors.EmbeddedServerError("Read-only file system")


@pytest.mark.parametrize("on_lost", [_cannot_restart, asyncio.Event().wait], ids=["fails", "hangs"])
async def test_a_server_that_cannot_be_restarted_is_unavailable(tmp_path, monkeypatch, caplog, on_lost) -> None:
    monkeypatch.setattr(pools, "RESTORE_S", 0.1)
    dsn = f"postgresql+asyncpg://stepwell_service@/stepwell?host={tmp_path}&port=5432"
    async with transactions.connect(dsn, pool_size=1, hooks=pools.ServerHooks(on_lost)) as database:
        with pytest.raises(errors.DatabaseUnavailable):
            async with database.shared():
                pass
    assert "database lost: No such file or directory" in caplog.messages


async def test_without_file_descriptors_nothing_is_restarted_and_the_message_says_why(address, monkeypatch) -> None:
    async def opened(_connection: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async with transactions.connect(address.service_dsn, pool_size=1) as database:
        monkeypatch.setattr(pools.Connection, "open", opened)
        with pytest.raises(errors.DatabaseUnavailable, match="ulimit -n"):
            async with database.shared():
                pass
        assert database.pool.is_reachable


async def test_that_a_role_may_only_read_is_logged_once_though_older_connections_may_write(own_server, caplog) -> None:
    owner = await asyncpg.connect(own_server.dsn(user=postgres.OWNER, driver="postgresql"))
    async with transactions.connect(own_server.service_dsn, pool_size=3) as database:
        try:
            async with database.shared():
                await owner.execute("ALTER ROLE stepwell_service SET default_transaction_read_only = on")
            for _ in range(3):
                async with database.shared(), database.shared():
                    assert database.pool.is_read_only
        finally:
            await owner.execute("ALTER ROLE stepwell_service RESET default_transaction_read_only")
            await owner.close()
    assert caplog.messages == ["database is read-only"]


async def test_searches_fail_with_503_while_postgres_is_down_and_work_again_afterwards(own_server, caplog) -> None:
    caplog.set_level("INFO", "app.database.pools")
    async with _serving(own_server) as (client, database, _app):
        assert (await client.get("/readyz")).status_code == 200
        await own_server.stop()
        for method, path, body in (
            ("POST", SEARCH, LIME),
            ("POST", DOCUMENTS, {"content": "Clay."}),
            ("POST", DOCUMENTS, [{"content": "Clay."}, {"content": "Chalk."}]),
            ("GET", DOCUMENTS, None),
            ("GET", "/readyz", None),
        ):
            async with asyncio.timeout(2 if path == DOCUMENTS else None):
                unavailable(await client.request(method, path, json=body))
        assert (await client.get("/healthz")).status_code == 200
        await own_server.start()
        assert await _hits(client) == 1

        async def ready() -> bool:  # a result is kept for two seconds
            return (await client.get("/readyz")).status_code == 200

        await until(ready)
        await until(lambda: database.in_use() == 0)
    logged = [record.action for record in caplog.records if record.name == "app.database.pools"]
    assert logged == ["database_lost", "database_reached"]


async def test_a_start_waits_for_a_database_that_is_not_available_yet(own_server) -> None:
    settings = Settings(database_url=own_server.service_dsn)
    await own_server.stop()
    opening = runtime.open_services(settings)
    starting = asyncio.create_task(opening.__aenter__())
    await asyncio.wait({starting}, timeout=0.5)
    assert not starting.done()
    await own_server.start()
    services = await starting
    assert await Tenant(services.db).uris() == []
    await opening.__aexit__(None, None, None)


@pytest.mark.skipif(not running_service.FULL, reason="a start gives up after twenty seconds")
async def test_a_start_fails_if_the_database_stays_unavailable() -> None:
    with server_folders.temporary() as folder, pytest.raises(errors.DatabaseUnavailable):
        async with runtime.open_services(Settings(database_url=f"postgresql://x@/x?host={folder}")):
            pass


async def test_terminated_connections_are_replaced_without_failed_requests(address: Any) -> None:
    async with _serving(address, pool={"pool_size": 4}) as (client, _database, _app):
        async with locked_chunks(address) as hold:
            asked = [asyncio.create_task(_hits(client)) for _ in range(4)]
            await hold.reached(4)
            await hold.release()
            assert await asyncio.gather(*asked) == [1] * 4
            assert await hold.terminate() == 4
        assert await asyncio.gather(*(_hits(client) for _ in range(8))) == [1] * 8


async def test_a_read_whose_connection_is_terminated_is_retried(address: Any) -> None:
    async with _serving(address, pool={"pool_size": 2}) as (client, database, _app):
        (stored,) = (await client.get(DOCUMENTS)).json()["documents"]
        reads = {SEARCH: LIME, SIMILAR: NEAR, f"{DOCUMENTS}/{stored['document_id']}/chunks": None}
        for path, body in reads.items():
            async with locked_chunks(address) as hold:
                asked = asyncio.create_task(client.request("POST" if body else "GET", path, json=body))
                await hold.reached(1)
                await hold.terminate()
                await hold.reached(1)
                await hold.release()
                assert (await asked).status_code == 200, path
            await until(lambda: database.in_use() == 0)


async def test_a_read_whose_connection_is_terminated_twice_is_a_503_with_retry_after(address: Any) -> None:
    async with _serving(address, pool={"pool_size": 2}) as (client, database, _app), locked_chunks(address) as hold:
        asked = asyncio.create_task(client.post(SEARCH, json=LIME))
        for _ in range(2):
            await hold.reached(1)
            await hold.terminate()
        unavailable(await asked)
        await hold.release()
        assert await _hits(client) == 1
        await until(lambda: database.in_use() == 0)


async def test_an_exhausted_pool_is_a_503_and_running_requests_are_answered(address: Any) -> None:
    async with _serving(address, pool={"pool_size": 2, "pool_wait_s": 1.0}) as (client, database, _app):
        async with locked_chunks(address) as hold:
            asked = [asyncio.create_task(_hits(client)) for _ in range(2)]
            await hold.reached(2)
            unavailable(await client.post(SEARCH, json=LIME))
            unavailable(await client.get("/readyz"))
            assert (await client.get("/healthz")).status_code == 200
            await hold.release()
        assert await asyncio.gather(*asked) == [1, 1]
        await until(lambda: database.in_use() == 0)


@pytest.mark.parametrize(
    ("limits", "budget"),
    [(TimeLimits(read_ms=300), Budget()), (TimeLimits(), Budget(whole_s=0.3))],
    ids=["statement timeout", "deadline of the search"],
)
async def test_a_slow_query_is_a_504_and_leaves_no_backend(address: Any, limits: TimeLimits, budget: Budget) -> None:
    async with _serving(address, pool={"pool_size": 2, "limits": limits}, budget=budget) as (client, database, _app):
        async with locked_chunks(address) as hold:
            response = await client.post(SEARCH, json=LIME)
            assert (response.status_code, response.json()["code"]) == (504, "search_timeout")
            await hold.reached(0)
            await until(lambda: database.in_use() == 0)
        await until(lambda: _found(client))


async def _found(client: httpx.AsyncClient) -> bool:
    """Whether a search finds the note; it may take longer than the limit while the machine stalls."""
    response = await client.post(SEARCH, json=LIME)
    return response.status_code == 200 and len(response.json()["results"]) == 1


async def test_a_client_disconnect_cancels_the_query(address: Any) -> None:
    async with _serving(address, pool={"pool_size": 2}) as (client, database, app), locked_chunks(address) as hold:
        for path, body in ((SEARCH, LIME), (SIMILAR, NEAR)):
            asked = asyncio.create_task(client.post(path, json=body))
            await hold.reached(1)
            await running_service.cancel(asked)
            await hold.reached(0)
            await until(lambda: database.in_use() == 0 and app.state.searches.running == 0)
        await hold.release()
        assert await _hits(client) == 1


async def test_a_client_disconnect_frees_a_place_in_the_queue(address: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(auth="none", max_concurrent_searches=1)
    monkeypatch.setattr(main, "MAX_WAITING_SEARCHES", 1)
    async with _serving(address, settings) as (client, _database, app), locked_chunks(address) as hold:
        running = asyncio.create_task(_hits(client))
        await hold.reached(1)
        queued = asyncio.create_task(client.post(SEARCH, json=LIME))
        await until(lambda: app.state.searches.waiting == 1)
        unavailable(await client.post(SEARCH, json=LIME), "overloaded")
        queued.cancel()
        await until(lambda: app.state.searches.waiting == 0)
        another = asyncio.create_task(_hits(client))
        await until(lambda: app.state.searches.waiting == 1)
        await hold.release()
        assert await asyncio.gather(running, another) == [1, 1]


async def test_endless_searches_with_one_key_do_not_block_another_key(address, monkeypatch) -> None:
    settings = Settings(auth="api_key", max_concurrent_searches=1)
    monkeypatch.setattr(main, "MAX_WAITING_SEARCHES", 2)
    async with _serving(address, settings) as (client, database, app), locked_chunks(address) as hold:
        greedy, modest = await running_service.keys(database, "greedy", "modest")
        running = asyncio.create_task(client.post(SEARCH, json=LIME, headers=greedy))
        await hold.reached(1)
        waiting = []
        for count in (1, 2):
            waiting.append(asyncio.create_task(client.post(SEARCH, json=LIME, headers=greedy)))
            await until(lambda count=count: app.state.searches.waiting == count)
        unavailable(await client.post(SEARCH, json=LIME, headers=greedy), "overloaded")
        other = asyncio.create_task(client.post(SEARCH, json=LIME, headers=modest))
        unavailable(await waiting.pop(), "overloaded")
        await hold.release()
        assert [one.status_code for one in await asyncio.gather(running, *waiting, other)] == [200] * 3
