"""Reads of requests on a real streaming standby: which server answers, and what happens while one of them is away."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import httpx
import pytest
import replication
import server_folders
from fastapi import FastAPI

from app.database import transactions
from app.database.schema import migration, roles
from app.database.standby import Standby
from app.database.transactions import Database
from app.http import health
from app.maintenance import doctor
from app.services import Services
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

EMBEDDER = FakeEmbedder()
MODEL, DIMENSION = EMBEDDER.model.name, EMBEDDER.model.dimension
HEADER = "X-Stepwell-Version"
NOTES = {
    "tide.md": "# Tide tables\n\nAda Quinn keeps the tide tables of the harbour office in Lime Street.",
    "mortar.md": "# Mortar\n\nLime mortar for the harbour wall was ordered by Ada Quinn in May.",
    "buoys.md": "# Buoys\n\nThe buoys report every ten minutes, because their batteries are small.",
}


@dataclass(slots=True)
class Process:
    """A service process on the pair, and a client with the user's key."""

    app: FastAPI
    services: Services
    client: httpx.AsyncClient

    @property
    def counts(self) -> dict[str, int]:
        """Reads so far by target and reason."""
        return {"/".join(key): count for key, count in self.services.db.reads.counts.items()}

    async def search(self, query: str, **headers: str) -> httpx.Response:
        return await self.client.post("/api/rag/search", json={"query": query, "limit": 3}, headers=headers)

    async def uris(self, query: str, **headers: str) -> list[str]:
        answer = await self.search(query, **headers)
        assert answer.status_code == 200, answer.text
        return [hit["uri"] for hit in answer.json()["results"]]


@pytest.fixture(scope="module")
async def pair() -> AsyncIterator[replication.Pair]:
    async def prepare(primary: Any) -> None:
        await migration.upgrade(primary.owner_dsn, model=MODEL, dimension=DIMENSION)

    with server_folders.temporary() as folder:
        async with replication.running(folder, prepare, hot_standby_feedback="on") as started:
            yield started


@pytest.fixture(scope="module")
async def key(pair: replication.Pair) -> str:
    async with transactions.connect(pair.primary.service_dsn, pool_size=1, pool_wait_s=30) as opened:
        return await harness.create_key(opened, "ada")


@pytest.fixture(scope="module")
async def process(pair: replication.Pair, key: str) -> AsyncIterator[Process]:
    async with _process(pair.primary.service_dsn, key, pair.standby.service_dsn) as started:
        for uri, content in NOTES.items():
            stored = await started.client.post(
                "/api/rag/documents", json={"uri": uri, "content": content, "metadata": {"author": "Ada Quinn"}}
            )
            assert stored.status_code == 201, stored.text
        yield started


@pytest.fixture(autouse=True)
async def settled(pair: replication.Pair, process: Process) -> None:
    """Each test begins with both servers up and equal."""
    await pair.replayed()
    await process.services.db.reads.probe()
    assert process.services.db.reads.standby.state == "ready", process.services.db.reads.standby.reason
    process.services.db.reads.counts.clear()
    process.app.state.readiness = health.ReadinessCheck()  # it caches its result for two seconds


@asynccontextmanager
async def _process(
    dsn: str, key: str, standby_dsn: str | None = None, *, worker: bool = False
) -> AsyncIterator[Process]:
    async with AsyncExitStack() as stack:
        database = await _opened(dsn, stack)
        if standby_dsn is not None:
            await Standby(await _opened(standby_dsn, stack), database, _check).probe()
        services = Services(database, EMBEDDER, expected_schema=(MODEL, DIMENSION))
        await database.is_read_only()  # as at the start of a service, which checks the schema
        app = await stack.enter_async_context(harness.running(Settings(auth="api_key", worker=worker), services))
        client = await stack.enter_async_context(harness.client(app, Authorization=f"Bearer {key}"))
        yield Process(app, services, client)


async def _check(database: Database) -> None:
    await migration.check(database, model=MODEL, dimension=DIMENSION)
    await roles.check_role(database, strict=True)


async def _opened(dsn: str, stack: AsyncExitStack) -> Database:
    database = transactions.connect(dsn, pool_size=3, pool_wait_s=30)
    stack.push_async_callback(database.close)
    return database


async def test_answers_from_the_standby_are_those_of_the_primary(pair, process: Process, key: str) -> None:
    async with _process(pair.primary.service_dsn, key) as plain:
        await _assert_equal(process, plain)


async def test_a_key_with_filters_sees_the_same_on_the_standby(pair, process: Process) -> None:
    primary, standby = pair.primary.service_dsn, pair.standby.service_dsn
    key = await harness.create_key(process.services.db, "ada", filters={"uri_prefix": "tide"})
    await pair.replayed()
    async with _process(primary, key, standby) as replicated, _process(primary, key) as plain:
        assert await replicated.uris("lime mortar buoys") == ["tide.md"]
        await _assert_equal(replicated, plain)


async def _assert_equal(replicated: Process, plain: Process) -> None:
    """Every read has the same answer from the standby."""
    for method, path, body in await _reads(replicated):
        answers = [await one.client.request(method, path, json=body) for one in (replicated, plain)]
        assert [answer.status_code for answer in answers] == [200, 200], path
        assert _comparable(answers[0]) == _comparable(answers[1]), path
        assert answers[0].headers.get(HEADER) == answers[1].headers.get(HEADER), path
    assert set(replicated.counts) == {"standby/preferred"}


async def _reads(process: Process) -> list[tuple[str, str, Any]]:
    documents = (await process.client.get("/api/rag/documents")).json()["documents"]
    entities = (await process.client.get("/api/rag/entities")).json()["entities"]
    document = f"/api/rag/documents/{documents[0]['document_id']}"
    chunk = (await process.client.get(f"{document}/chunks")).json()["chunks"][0]["chunk_id"]
    question = {"query": "Who ordered the lime mortar?"}
    return [
        ("POST", "/api/rag/search", question | {"explain": True, "detail": "compact", "ranking": {"mmr": True}}),
        ("POST", "/api/rag/search/multihop", question),
        ("POST", "/api/rag/search/two-pass", {"query": "Ada Quinn"}),
        ("POST", "/api/rag/similar", {"chunk_id": chunk}),
        ("POST", "/api/rag/tools/search_documents", question),
        ("POST", "/api/rag/tools/get_document", {"document_id": documents[0]["document_id"]}),
        ("GET", "/api/rag/documents", None),
        ("GET", document, None),
        ("GET", f"{document}/chunks", None),
        ("GET", f"/api/rag/entities/{entities[0]['entity_id']}/documents", None),
        ("GET", "/api/rag/entities?q=ada", None),
        ("GET", "/api/rag/stats", None),
    ]


def _comparable(answer: httpx.Response) -> Any:
    found = {name: value for name, value in answer.json().items() if name not in {"took_ms", "timings"}}
    found.get("explain", {}).pop("timings", None)
    return found


async def test_users_find_what_they_have_stored_although_the_standby_lags(pair, process: Process, key: str) -> None:
    await pair.pause()
    try:
        stored = await process.client.post(
            "/api/rag/documents", json={"uri": "gulls.md", "content": "Gulls nest here."}
        )
        version = stored.headers[HEADER]
        assert "gulls.md" in await process.uris("gulls")
        assert process.counts["primary/older"] == 1
        async with _process(pair.primary.service_dsn, key, pair.standby.service_dsn) as other:
            assert "gulls.md" not in await other.uris("gulls")
            assert "gulls.md" in await other.uris("gulls", **{HEADER: version})
            assert await other.uris("gulls"), "a process goes back no more than a client"
            assert other.counts == {"standby/preferred": 1, "primary/older": 2}
        await process.services.db.reads.probe()
        assert process.services.db.reads.standby.lag.bytes > 0
        assert "stepwell_standby_lag_seconds" in await _metrics(pair, process)
    finally:
        await pair.resume()
    await pair.replayed()
    process.services.db.reads.counts.clear()
    assert "gulls.md" in await process.uris("gulls", **{HEADER: version})
    assert process.counts == {"standby/preferred": 1}


async def _metrics(pair: replication.Pair, process: Process) -> str:
    key = await harness.create_key(process.services.db, "ada", "metrics")
    return (await process.client.get("/metrics", headers={"Authorization": f"Bearer {key}"})).text


async def test_a_version_that_the_primary_no_longer_has_is_forgotten(process: Process) -> None:
    process.services.db.reads.seen["ada"] = 10**15
    first, second = await process.search("mortar"), await process.search("mortar")
    assert first.headers[HEADER] == second.headers[HEADER]
    assert process.counts == {"primary/older": 1, "standby/preferred": 1}


@pytest.mark.parametrize("sent", ["-1", "1e3", "new", "9" * 19, "١"])
async def test_a_malformed_version_is_refused_by_reads_and_writes(process: Process, sent: str) -> None:
    headers = [(HEADER.encode(), sent.encode())]
    requests = [("/api/rag/search", {"query": "a"}), ("/api/rag/documents", {"content": "a"})]
    for path, body in requests:
        refused = await process.client.post(path, json=body, headers=headers)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, HEADER), path


async def test_a_read_that_conflicts_with_the_recovery_is_repeated_on_the_primary(pair, process: Process) -> None:
    await pair.set_on_standby(hot_standby_feedback="off", max_standby_streaming_delay="0")
    view = process.services.db.for_request(process.services.db.reads.new(), only_reads=True)

    @transactions.retry_read
    async def slow_read() -> bool:
        async with view.reading("ada") as reading:
            in_recovery = await reading.scalar(transactions.sa.text("SELECT pg_is_in_recovery()"))
            if in_recovery:
                for statement in ("CREATE TABLE seen AS SELECT 1 AS x", "DELETE FROM seen", "VACUUM seen"):
                    await server_folders.fetch(pair.primary, statement)
                await reading.execute(transactions.sa.text("SELECT pg_sleep(5)"))
            return bool(in_recovery)

    assert await slow_read() is False
    await pair.set_on_standby(hot_standby_feedback="on", max_standby_streaming_delay="30000")
    assert process.counts == {"standby/preferred": 1, "primary/preferred": 1}


async def test_the_primary_answers_while_the_standby_is_away(pair, process: Process) -> None:
    await pair.standby.stop()
    try:
        assert "mortar.md" in await process.uris("mortar")
        assert "tide.md" in await process.uris("tide tables")
        assert process.counts == {"primary/unavailable": 2}
        ready = await process.client.get("/readyz")
        assert (ready.status_code, ready.json()["standby"]) == (200, "unavailable")
    finally:
        await pair.standby.start()
    await process.services.db.reads.probe()
    await process.uris("mortar")
    assert process.counts["standby/preferred"] == 1


async def test_searches_with_a_key_are_answered_while_the_primary_is_away(pair, process: Process) -> None:
    version = int((await process.search("mortar")).headers[HEADER])
    await pair.primary.stop()
    try:
        assert "mortar.md" in await process.uris("mortar", **{HEADER: str(version)})
        assert (await process.client.get("/api/rag/stats")).status_code == 200
        behind = await process.search("mortar", **{HEADER: str(version + 1)})
        assert (behind.status_code, behind.json()["code"]) == (503, "standby_behind")
        process.services.db.reads.seen["ada"] = version + 1
        assert "mortar.md" in await process.uris("mortar")
        write = await process.client.post("/api/rag/documents", json={"content": "Not stored."})
        assert (write.status_code, write.json()["code"]) == (503, "database_unavailable")
        unknown = await process.client.get("/api/rag/stats", headers={"Authorization": "Bearer sw_0_unknown"})
        assert unknown.status_code == 401
        ready = await process.client.get("/readyz")
        assert (ready.status_code, ready.json()["database"], ready.json()["standby"]) == (200, "unavailable", "ready")
    finally:
        await pair.start_primary()
    assert (await process.client.delete("/api/rag/documents?uri=buoys.md")).status_code == 200


async def test_only_a_standby_of_the_primary_is_used(pair, process: Process, address: Any) -> None:
    assert (await doctor.standby(process.services.db))[0] == "ok"
    async with AsyncExitStack() as stack:
        primary = await _opened(pair.primary.service_dsn, stack)
        for dsn, reason in ((address.service_dsn, "another identifier"), (pair.primary.service_dsn, "not in recovery")):
            other = Standby(await _opened(dsn, stack), primary, _check)
            level, message, _fix = await doctor.standby(primary)
            assert (other.standby.state, level) == ("refused", "error")
            assert reason in message


async def test_a_standby_is_found_again_once_its_address_leads_to_it(pair, process: Process, tmp_path: Path) -> None:
    """An address with several hosts, or a name that moves, leads to the promoted server until its connections end."""
    link = tmp_path / "sockets"
    link.symlink_to(pair.primary.layout.sockets)
    dsn = pair.standby.service_dsn.replace(str(pair.standby.layout.sockets), str(link))
    async with AsyncExitStack() as stack:
        standby = Standby(await _opened(dsn, stack), await _opened(pair.primary.service_dsn, stack), _check)
        await standby.probe()
        assert standby.standby.state == "refused"
        link.unlink()
        link.symlink_to(pair.standby.layout.sockets)
        await standby.probe()
        assert standby.standby.state == "ready", standby.standby.reason


async def test_a_service_on_the_standby_alone_only_reads(pair, process, key, caplog) -> None:
    version = int((await process.search("mortar")).headers[HEADER])
    with caplog.at_level(logging.INFO):
        async with _process(pair.standby.service_dsn, key, worker=True) as reader:
            assert "mortar.md" in await reader.uris("mortar", **{HEADER: str(version)})
            requests = [
                ("POST", "/api/rag/documents", {"content": "Not stored."}),
                ("DELETE", "/api/rag/documents?uri=mortar.md", None),
                ("POST", "/api/rag/entities", {"name": "Nobody", "type": "person"}),
            ]
            for method, path, body in requests:
                refused = await reader.client.request(method, path, json=body, headers={"Idempotency-Key": path})
                assert (refused.status_code, refused.json()["code"]) == (503, "read_only"), path
                assert refused.headers["content-type"] == "application/problem+json"
            behind = await reader.search("mortar", **{HEADER: str(version + 1)})
            assert (behind.status_code, behind.json()["code"]) == (503, "standby_behind")
            ready = await reader.client.get("/readyz")
            assert (ready.status_code, ready.json()["database"]) == (200, "read_only")
            assert (await doctor.writes(reader.services.db))[0] == "warning"
    # Workers of other tests may do jobs meanwhile.
    logged = [one.getMessage() for one in caplog.records if one.exc_info or "job postponed" in one.getMessage()]
    assert logged == []
    assert caplog.messages.count("database is read-only") == 1
