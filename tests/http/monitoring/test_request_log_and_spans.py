"""Tests of request ids, the request log and OpenTelemetry spans, which contain no text or secret of a user."""

import json
from dataclasses import replace
from typing import Any

import harness
import pytest
from opentelemetry import trace

from app import errors, logging_setup
from app import settings as config
from app.database import transactions
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

OWN_DATABASE = True
"""The tests use a separate database. Its only user is the local one."""

CANARY = "quokkacanary"
PASSWORD = "hunter2canary"


class Failing(FakeEmbedder):
    """Fails with an exception that quotes the given text, as a provider's exception may."""

    def __init__(self, error: type[Exception] = RuntimeError) -> None:
        super().__init__()
        self._error = error

    async def embed_query(self, text: str) -> list[float]:
        raise self._error(f"cannot embed {text!r}")


class Log:
    """The log that the service writes to stderr with its own settings."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.text = ""

    def read(self) -> list[dict[str, Any]]:
        """Reads every line, and returns the lines of requests."""
        self.text += self._capsys.readouterr().err
        lines = [json.loads(line) for line in self.text.splitlines()]
        return [line for line in lines if line["message"] == "request"]


@pytest.fixture
def log(capsys, _logging_as_before) -> Log:
    return Log(capsys)


@pytest.fixture
def settings() -> Settings:
    return Settings(auth="api_key", database_url=f"postgresql://stepwell_service:{PASSWORD}@nowhere.invalid/db")


async def test_a_search_logs_one_line_with_its_stages_codes_and_request_id(database, user, settings, log):
    key = await harness.create_key(database, user)
    services = await harness.services(database, Failing(errors.ProviderError))
    async with harness.calling(settings, services, Authorization=f"Bearer {key}") as client:
        await client.post("/api/rag/documents", json={"content": f"A {CANARY} hops."})
        response = await client.post("/api/rag/search", json={"query": CANARY}, headers={"X-Request-ID": "r-77"})
    added, searched = log.read()
    assert added["documents"] == {"added": 1}
    assert searched["key_id"] == key.split("_")[1]
    assert "code" not in searched
    assert (searched["request_id"], searched["method"], searched["status"]) == ("r-77", "POST", 200)
    assert searched["path"] == "/api/rag/search"
    assert searched["degraded"] == response.json()["degraded"] == ["embedding_failed", "no_query_vector"]
    assert (searched["hits"], searched["relaxed"]) == (1, [])
    assert {"embed", "recall", "total"} <= set(searched["timings"])
    assert searched["took_ms"] >= searched["timings"]["total"]


async def test_no_line_contains_user_text_user_names_or_a_secret(database, user, settings, log):
    key = await harness.create_key(database, user)
    document = {
        "content": f"{CANARY} text",
        "title": f"{CANARY} title",
        "uri": f"{CANARY}.md",
        "metadata": {"a": CANARY},
    }
    down = transactions.connect(f"postgresql://stepwell_service:{PASSWORD}@127.0.0.1:9/db")
    services = await harness.services(database)
    async with harness.running(settings, services) as app, harness.client(app, Authorization=f"Bearer {key}") as client:
        for embedder in (FakeEmbedder(), Failing(), Failing(errors.ProviderError)):
            app.state.services = replace(services, embedder=embedder, states={})
            await client.post("/api/rag/documents", json=document)
            await client.post("/api/rag/documents", files={"files": (f"{CANARY}.exe", CANARY.encode())})
            await client.get("/api/rag/documents", params={"uri": f"{CANARY}.md", "cursor": CANARY})
            for body in (
                {"query": CANARY, "explain": True},
                {"query": f'+{CANARY}x "{CANARY} y"'},
                {"query": [CANARY]},
            ):
                await client.post("/api/rag/search", json={**body, "filters": {"metadata": {"a": CANARY}}})
            await client.post("/api/rag/search", json={"query": "a", CANARY: CANARY})
            await client.post("/api/rag/search", content=f'{{"query": "{CANARY}'.encode())
            await client.post("/api/rag/search", json={"query": CANARY}, headers={"Authorization": f"Bearer {key}x"})
            await client.post("/api/rag/search", json={"query": "a"}, headers={"X-Request-ID": f"{CANARY} and spaces"})
            await client.get(f"/nowhere/{key}")
            app.state.services = replace(services, db=down)
            assert (await client.post("/api/rag/search", json={"query": CANARY})).status_code == 503
    await down.close()
    requests = log.read()
    assert len(requests) == 36
    assert {line["status"] for line in requests} >= {200, 201, 401, 404, 422, 500, 503}
    for secret in (CANARY, PASSWORD, key.split("_", 2)[2][:20], key[16:], user):
        assert secret not in log.text


async def test_lines_name_the_trace_of_the_client_and_the_code_of_a_problem(database, log):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with harness.calling(Settings(), await harness.services(database)) as client:
        for sent in (trace, f"{trace} and {CANARY}"):
            await client.post("/api/rag/search", json={"query": " "}, headers={"traceparent": sent})
    traced, other = log.read()
    assert (traced["traceparent"], traced["code"]) == (trace, "blank_query")
    assert "traceparent" not in other
    assert CANARY not in log.text


def test_secrets_are_masked_at_every_position():
    key = "sw_0123456789ab_" + "x" * 43
    line = f"GET /{key} swl_{'y' * 43} failed on postgresql+asyncpg://me:p%40ss@db:5432/x and redis://:{PASSWORD}@r"
    shown = logging_setup.mask(line)
    assert (
        shown == "GET /sw_0123456789ab_*** swl_*** failed on postgresql+asyncpg://me:***@db:5432/x and redis://:***@r"
    )


def test_a_key_is_masked_behind_what_may_be_addresses():
    line = 20 * "://a:" + f" sw_0123456789ab_{'x' * 43} "
    assert logging_setup.mask(line) == 20 * "://a:" + " sw_0123456789ab_*** "


async def test_a_search_is_a_span_with_its_route_stages_and_request_id_and_no_word_of_the_user(
    database, monkeypatch, capsys
):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    async with harness.calling(Settings(), await harness.services(database)) as client:
        found = await client.post("/api/rag/search", json={"query": CANARY}, headers={"X-Request-ID": "r-5"})
        await client.get("/api/rag/documents", params={"uri": CANARY})
    servers = [span for span in kept.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    searched, listed = servers
    assert searched.name == "POST /api/rag/search"
    assert searched.attributes["http.response.status_code"] == 200
    assert searched.attributes["stepwell.request_id"] == "r-5"
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if '"request"' in line]
    assert lines[0]["traceparent"][3:-3] == f"{searched.context.trace_id:032x}-{searched.context.span_id:016x}"
    assert searched.attributes["stepwell.total_ms"] == found.json()["took_ms"]
    assert listed.attributes["url.query"] == "REDACTED"
    assert CANARY not in "".join(span.to_json() for span in kept.get_finished_spans())


async def test_spans_are_exported_to_the_standard_address_only(database, monkeypatch, caplog):
    services = await harness.services(database)
    assert not config.exports_traces()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "not an address")
    await _started(Settings(), services)
    assert caplog.text.count("Invalid OTLP traces endpoint") == 1


async def _started(settings, services) -> None:
    """Start and stop like a server, through the ASGI lifespan: FastAPI sets up its exporters there."""
    async with harness.running(settings, services) as app:
        messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive():
            return next(messages)

        async def send(_):
            pass

        await app({"type": "lifespan", "app": app, "state": {}}, receive, send)
