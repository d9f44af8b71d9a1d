"""Gives every request an id, adds the headers that the request's state holds, and logs and counts the answer.

Every response carries X-Request-ID: the client's own if it is 1 to 64 letters, digits, `.`, `_` or `-`, else a new one.
An endpoint that sets `request.state.timings = {"embed": 3.1, "sql": 4.5}` (milliseconds) gets a Server-Timing header
and these times in the log line, which also summarises `request.state.answer` and `request.state.stored`, and names the
id of the API key and the code of a problem.

Where an OpenTelemetry provider exists, FastAPI records a span for each request. It gets the id and the times too. Its
query string, which may name a user's documents, is replaced. Log lines have the span's `traceparent` (W3C Trace
Context), or the client's own where no spans are recorded.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping

from fastapi import FastAPI
from opentelemetry import trace
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from app.http import auth
from app.http.metrics import Metrics

_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_NOT_IN_A_TOKEN = re.compile(r"[^A-Za-z0-9_-]+")
_logger = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Observe every request. Call it last, so that refused requests are observed too; it needs `metrics.install`."""
    app.add_middleware(Observing, metrics=app.state.metrics)


class Observing:
    """Sets `request.state.request_id` and the `request_id` of log lines, and logs and counts each request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = Headers(scope=scope)
        state = scope.setdefault("state", {})
        state["request_id"] = choose(headers)
        span = trace.get_current_span()
        if span.is_recording():
            span.set_attribute("stepwell.request_id", state["request_id"])
            if scope.get("query_string"):
                span.set_attribute("url.query", "REDACTED")
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])  # the SDK of MCP sends members of an enumeration
                given = list(message.get("headers", ()))
                message["headers"] = [*given, *_headers(scope, given)]
                if span.is_recording():  # it ends with the last byte of the response
                    span.set_attributes(
                        {f"stepwell.{name}_ms": ms for name, ms in (state.get("timings") or {}).items()}
                    )
            await send(message)

        with (
            bound_contextvars(request_id=state["request_id"], **_trace(headers, span)),
            self._metrics.in_flight.track_inprogress(),
        ):
            try:
                await self._app(scope, receive, send_with_id)
            finally:
                took_s = time.perf_counter() - began
                self._metrics.request(scope, status, took_s)
                _log(scope, status, took_s * 1000)


def _headers(scope: Scope, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """More headers of a response: id, times, the version of the user's data, and those of `response_headers`.

    A response to GET that does not say how long it may be kept is not kept: a cache between a client and the service
    may not know that it depends on X-API-Key.
    """
    state = scope["state"]
    headers = {"x-request-id": state["request_id"], **state.get("response_headers", {})}
    if scope["method"] == "GET" and "cache-control" not in Headers(raw=given):
        headers["cache-control"] = "no-store"
    if timings := state.get("timings"):
        headers["server-timing"] = server_timing(timings)
    route = state.get("read_route")
    if route is not None and route.version is not None:
        headers[auth.VERSION] = str(route.version)
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def server_timing(timings: Mapping[str, float]) -> str:
    """`{"embed": 3.14159}` in milliseconds as `embed;dur=3.14`; a name keeps only what a header token may hold."""
    return ", ".join(f"{_NOT_IN_A_TOKEN.sub('_', name)};dur={ms:.2f}" for name, ms in timings.items())


def choose(headers: Headers) -> str:
    """The client's own id if it is well-formed, else a new one."""
    sent = headers.get("x-request-id", "")
    return sent if _WELL_FORMED.fullmatch(sent) else secrets.token_hex(16)


def _trace(headers: Headers, span: trace.Span) -> dict[str, str]:
    """The `traceparent` of a request; empty without a span and a well-formed header."""
    context = span.get_span_context()
    if context.is_valid:
        return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}
    sent = headers.get("traceparent", "")
    return {"traceparent": sent} if _TRACEPARENT.fullmatch(sent) else {}


def _log(scope: Scope, status: int, took_ms: float) -> None:
    """Log a line with what the endpoint has left in the state."""
    state = scope["state"]
    outcome = {"method": scope["method"], "path": scope["path"][:200], "status": status, "took_ms": round(took_ms, 1)}
    if (caller := state.get("caller")) is not None and caller.key_id is not None:
        outcome["key_id"] = caller.key_id
    if code := state.get("problem"):
        outcome["code"] = code
    if timings := state.get("timings"):
        outcome["timings"] = {name: round(ms, 2) for name, ms in timings.items()}
    if (answer := state.get("answer")) is not None:
        outcome |= {"hits": len(answer.hits), "degraded": list(answer.degraded), "relaxed": list(answer.relaxed)}
    if (stored := state.get("stored")) is not None:
        outcome["documents"] = dict(Counter(document.status for document in stored))
    _logger.info("request", extra=outcome)
