"""Tests of OpenTelemetry spans: they contain no text of a user."""

from __future__ import annotations

import json

import harness
from opentelemetry import trace

from app import settings
from app.settings import Settings

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

CANARY = "numbatcanary"


async def test_a_search_is_a_span_with_its_route_stages_and_request_id_and_no_word_of_the_user(
    database, monkeypatch, capsys
):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    async with (
        harness.running(Settings(), await harness.services(database)) as app,
        harness.client(app) as client,
    ):
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
    assert not settings.exports_traces()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "not an address")
    await _started(Settings(), services)
    assert caplog.text.count("Invalid OTLP traces endpoint") == 1


async def _started(settings, services) -> None:
    """Start and stop as a server does, through the ASGI lifespan, where FastAPI sets up its exporters."""
    async with harness.running(settings, services) as app:
        messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive():
            return next(messages)

        async def send(_):
            pass

        await app({"type": "lifespan", "app": app, "state": {}}, receive, send)
