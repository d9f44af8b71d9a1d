"""Tests of the metrics: what they count, their documentation, and access to them."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import harness
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app import errors
from app.access import callers
from app.access import keys as access_keys
from app.database import pooled_connection, transactions
from app.http.metrics import Metrics
from app.serving import shared_metrics
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

QUERY = "zebracanary lighthouse"


class Broken(FakeEmbedder):
    """An embedder whose provider is down for queries."""

    async def embed_query(self, text: str) -> list[float]:
        raise errors.ProviderError("down")


@pytest.fixture(scope="module")
async def services(database):
    return await harness.services(database)


@pytest.fixture(scope="module")
async def client(services) -> AsyncIterator:
    """A client of a service that most tests share; it runs no jobs."""
    async with harness.calling(Settings(worker=False), services) as client:
        yield client


async def counts(client, **headers) -> dict[str, float]:
    """Every sample of /metrics by its name with labels."""
    response = await client.get("/metrics", headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return samples(response.text)


async def grown(client, before: dict[str, float]) -> Counter[str]:
    """By how much each sample has grown."""
    return Counter({name: value - before.get(name, 0) for name, value in (await counts(client)).items()})


def samples(text: str) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    }


async def test_requests_are_counted_by_route_template_method_and_status(client):
    before = await counts(client)
    for unknown in ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"):
        await client.get(f"/api/rag/documents/{unknown}")
    found = await grown(client, before)
    labels = 'method="GET",route="/api/rag/documents/{document_id}",status="404"'
    assert found[f"stepwell_http_requests_total{{{labels}}}"] == 2
    timed = 'stepwell_http_request_duration_seconds_count{method="GET",route="/api/rag/documents/{document_id}"}'
    assert found[timed] == 2
    assert found['stepwell_http_problems_total{code="not_found",status="404"}'] == 2
    assert (await counts(client))["stepwell_http_requests_in_flight"] == 1, "the scrape itself"


async def test_values_from_callers_become_no_metric_labels(client):
    for path in ("/nowhere/canary", "/api/rag/documents/canary", "/docs/assets/canary.js"):
        await client.request("CANARY", path)
        await client.get(path)
    text = (await client.get("/metrics")).text
    assert "canary" not in text.lower()
    assert 'method="other",route="unmatched",status="404"' in text


async def test_a_search_counts_its_stages_and_its_answer(client):
    stored = await client.post("/api/rag/documents", json={"content": f"The {QUERY} stands on a rock."})
    assert stored.status_code in {200, 201}
    before = await counts(client)
    response = await client.post("/api/rag/search", json={"query": QUERY})
    assert response.json()["results"]
    found = await grown(client, before)
    series = [f'stepwell_search_stage_seconds_count{{stage="{stage}"}}' for stage in ("embed", "recall")]
    series += ['stepwell_search_duration_seconds_count{kind="flat"}', 'stepwell_search_answers_total{found="true"}']
    assert [found[name] for name in series] == [1] * 4
    took_s = found['stepwell_search_duration_seconds_sum{kind="flat"}']
    assert took_s == pytest.approx(response.json()["took_ms"] / 1000)
    assert "zebracanary" not in (await client.get("/metrics")).text


async def test_degraded_answers_are_counted_by_name(database):
    async with harness.calling(Settings(), await harness.services(database, Broken())) as client:
        await client.post("/api/rag/documents", json={"content": "Mooring lines are doubled before a gale."})
        degraded = (await client.post("/api/rag/search", json={"query": "mooring"})).json()["degraded"]
        found = await counts(client)
    assert "embedding_failed" in degraded
    assert found['stepwell_search_degraded_total{code="embedding_failed"}'] == 1


async def test_ingest_counts_documents_by_what_became_of_them(client):
    texts = [{"content": "A first note on barnacles.", "uri": "barnacles"}, {"content": "​", "uri": "blank"}]
    before = await counts(client)
    for document in (texts[0], texts[0], {"content": "A second note on barnacles.", "uri": "barnacles"}):
        assert (await client.post("/api/rag/documents", json=document)).is_success
    several = await client.post("/api/rag/documents", json=[{"content": "---\ntags: [only]\n---\n"}])
    assert several.status_code == 422
    found = await grown(client, before)
    for status in ("added", "unchanged", "replaced", "refused"):
        assert found[f'stepwell_ingest_documents_total{{status="{status}"}}'] == 1


async def test_connections_and_searches_show_while_they_last(database):
    hanging = harness.HangingEmbedder()
    async with harness.calling(Settings(worker=False), await harness.services(database, hanging)) as client:
        search = asyncio.create_task(client.post("/api/rag/search", json={"query": "anything"}))
        while (during := await counts(client))["stepwell_searches_running"] == 0:
            assert not search.done()
            await asyncio.sleep(0)  # a call inside one process need not give way
        async with database.shared():
            # The service may count uses of keys with another one now and then.
            lent = [(await counts(client))["stepwell_db_connections_in_use"] for _ in range(5)]
        assert min(lent) == 1
        search.cancel()
        await asyncio.gather(search, return_exceptions=True)
        after = await counts(client)
    assert during["stepwell_searches_running"] == 1
    assert (after["stepwell_searches_running"], after["stepwell_db_connections_in_use"]) == (0, 0)


async def test_statements_are_timed_by_the_name_of_their_file_and_slow_ones_are_logged(client, monkeypatch, caplog):
    monkeypatch.setattr(pooled_connection, "SLOW_S", 0.0)
    before = await counts(client)
    await client.post("/api/rag/documents", json={"content": "Pilots board by a ladder."})
    found = await grown(client, before)
    assert found['stepwell_db_statement_seconds_count{statement="lock_tenant"}'] == 1
    assert found['stepwell_db_statement_seconds_sum{statement="lock_tenant"}'] > 0
    slow = {record.statement for record in caplog.records if record.message == "slow statement"}
    assert {"lock_tenant", "other"} <= slow


async def test_waits_for_a_connection_are_counted_while_they_last_and_timed_afterwards(database):
    pool = transactions.connect(harness.address(database), pool_size=1, pool_wait_s=30.0)
    async with (
        harness.running(Settings(worker=False, metrics="open"), await harness.services(pool)) as app,
        harness.client(app) as client,
    ):
        app.state.metrics.before_scrape.clear()  # which waits for a connection too
        before = await counts(client)
        async with pool.shared():
            reading = asyncio.create_task(client.get("/api/rag/stats"))
            while (during := await counts(client))["stepwell_db_connections_waiting"] == 0:
                await asyncio.sleep(0)
                assert not reading.done()
        assert (await reading).status_code == 200
        after = await counts(client)
    await pool.close()
    assert (during["stepwell_db_connections_in_use"], during["stepwell_db_connections_max"]) == (1, 1)
    assert after["stepwell_db_connections_waiting"] == 0
    waits = "stepwell_db_connection_wait_seconds_"
    assert after[f"{waits}count"] > before[f"{waits}count"]
    assert after[f"{waits}sum"] > before[f"{waits}sum"]


async def test_the_process_shows_its_memory_and_processor_time(client):
    found = await counts(client)
    assert found["process_resident_memory_bytes"] > 1_000_000
    assert found["process_cpu_seconds_total"] > 0
    assert not [name for name in found if "_created" in name]


async def test_the_time_that_a_search_waits_for_its_turn_is_measured(services):
    async with harness.running(Settings(max_concurrent_searches=1), services) as app, harness.client(app) as client:
        async with app.state.searches.turn("somebody else"):
            waiting = asyncio.create_task(client.post("/api/rag/search", json={"query": "anything"}))
            while (await counts(client))["stepwell_searches_waiting"] != 1:
                await asyncio.sleep(0)
                assert not waiting.done()
        assert (await waiting).status_code == 200
        found = await counts(client)
    assert found["stepwell_search_wait_seconds_count"] == 1
    assert found["stepwell_search_wait_seconds_sum"] > 0


async def test_a_key_for_metrics_alone_reads_them_while_the_database_is_away(database, services, user, monkeypatch):
    keys = [await harness.create_key(database, user, scope) for scope in ("metrics", "metrics", "metrics", "admin")]
    async with harness.calling(Settings(auth="api_key"), services) as client:

        async def statuses() -> list[int]:
            return [(await client.get("/metrics", headers={"X-API-Key": key})).status_code for key in keys]

        assert await statuses() == [200, 200, 200, 200]
        async with harness.as_owner(database) as owner:
            await access_keys.revoke(keys[2], db=owner, actor="test")
        assert await statuses() == [200, 200, 401, 200]
        keys[1] = await harness.create_key(database, user, "metrics")

        async def away(*_: object, **__: object) -> None:
            raise errors.ConnectionLost("away")

        monkeypatch.setattr(callers, "identify", away)
        assert await statuses() == [200, 503, 503, 503]


async def test_with_api_keys_the_scopes_metrics_and_admin_read_the_metrics(database, services, user):
    keys = {scope: await harness.create_key(database, user, scope) for scope in ("search", "metrics", "admin")}
    async with harness.calling(Settings(auth="api_key"), services) as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/metrics", headers={"X-API-Key": keys["search"]})).status_code == 403
        assert (await client.get("/metrics", headers={"X-API-Key": keys["metrics"]})).status_code == 200
        assert (await client.get("/api/rag/stats", headers={"X-API-Key": keys["metrics"]})).status_code == 403
        found = await counts(client, Authorization=f"Bearer {keys['admin']}")
    assert not [name for name in found if user in name or keys["admin"] in name]


async def test_metrics_can_be_opened_to_everyone_or_switched_off(services):
    for access, status in (("open", 200), ("off", 404)):
        async with harness.calling(Settings(auth="api_key", metrics=access), services) as client:
            assert (await client.get("/metrics")).status_code == status


async def test_a_stall_of_the_event_loop_is_measured(client) -> None:
    before = await counts(client)
    began = time.thread_time()
    while time.thread_time() - began < 0.15:
        pass
    while (await grown(client, before))["stepwell_event_loop_lag_seconds_sum"] < 0.05:  # noqa: ASYNC110 - nothing sets an event
        await asyncio.sleep(0)
    assert (await counts(client))["stepwell_event_loop_lag_max_seconds"] >= 0.05


async def _text_of(requests: int, lag_s: float) -> str:
    metrics = Metrics()
    scope = {"method": "GET", "route": SimpleNamespace(path='/a b\n"c"'), "state": {}}
    for _ in range(requests):
        metrics.request(scope, 200, 0.02)
    metrics.lagged(lag_s)
    metrics.watch("stepwell_searches_running", "Searches.", lambda: 2)
    metrics.watch("stepwell_jobs_waiting", "Jobs of all processes.", lambda: 5)
    return await metrics.text()


async def test_metrics_of_several_processes_are_added_by_their_meaning() -> None:
    running, ended = [await _text_of(1, 0.2), await _text_of(2, 0.3)], await _text_of(4, 0.9)
    totals = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(shared_metrics.add_up(running, ended=[ended]))
        for sample in family.samples
    }
    route = '/a b\n"c"'
    assert totals["stepwell_http_requests_total", route, "200", "GET"] == 7
    assert totals["stepwell_http_request_duration_seconds_bucket", route, "0.025", "GET"] == 7
    assert totals["stepwell_http_request_duration_seconds_bucket", route, "0.01", "GET"] == 0
    assert totals["stepwell_http_request_duration_seconds_count", route, "GET"] == 7
    assert totals["stepwell_searches_running",] == 4
    assert totals["stepwell_jobs_waiting",] == 5
    assert totals["stepwell_processes",] == 2
    assert totals["stepwell_event_loop_lag_max_seconds",] == 0.3
    assert totals["stepwell_event_loop_lag_seconds_count",] == 3


async def test_what_a_process_had_shown_when_it_was_killed_does_not_replace_its_last_counts(tmp_path: Path) -> None:
    text = await _text_of(4_000, 0.2)

    async def die(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text.partition("} 4000")[0].encode() + b"} 40")
        writer.close()

    async def own() -> str:
        return text

    first, second = (shared_metrics.SharedMetrics(tmp_path, number) for number in (1, 2))
    async with first.shown(own):
        async with second.shown(own):
            whole = await first.total()
        (tmp_path / "2.socket").unlink(missing_ok=True)
        async with await asyncio.start_unix_server(die, tmp_path / "2.socket"):
            after = await first.total()
    name = "stepwell_http_requests_total{"
    assert [line for line in after.splitlines() if line.startswith(name)] == [
        line for line in whole.splitlines() if line.startswith(name)
    ]


def test_the_documentation_lists_every_metric():
    exported = {name for name in harness.metric_names() if name.startswith("stepwell_")}
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `stepwell_")]
    assert set(re.findall(r"`(stepwell_[a-z_]+)`", "\n".join(table))) == exported, "edit docs/operations.md"
