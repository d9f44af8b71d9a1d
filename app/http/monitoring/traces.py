"""Adds the request id and a search's timings to the spans that FastAPI records, and removes user input from them.

FastAPI records spans where an OpenTelemetry provider exists. The query string, which may name a user's documents, is
replaced; exceptions are not copied into OpenTelemetry's logs, since their messages may quote a user.
"""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from opentelemetry import trace
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def configuration(*, export: bool) -> TelemetryConfig:
    """FastAPI's telemetry settings; `export` sends spans and metrics to OTEL_EXPORTER_OTLP_ENDPOINT."""
    return {"logs": False, "auto_configure": export}


def install(app: FastAPI) -> None:
    """Complete and clean the span of every request."""
    app.add_middleware(Spans)


class Spans:
    """Sets the attributes of the request's span, if one is recorded."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        span = trace.get_current_span()
        if scope["type"] != "http" or not span.is_recording():
            await self.app(scope, receive, send)
            return
        state = scope.get("state", {})
        if scope.get("query_string"):
            span.set_attribute("url.query", "REDACTED")
        span.set_attribute("stepwell.request_id", state.get("request_id", ""))

        async def send_with_timings(message: Message) -> None:
            # The span ends with the last byte of the response.
            if message["type"] == "http.response.start":
                for stage, milliseconds in (state.get("timings") or {}).items():
                    span.set_attribute(f"stepwell.{stage}_ms", milliseconds)
            await send(message)

        await self.app(scope, receive, send_with_timings)
