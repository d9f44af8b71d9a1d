"""How is a request told from others, and where did its time go?

Every response carries X-Request-ID: the caller's own if it is sane, else a new one. An endpoint that sets
`request.state.timings = {"embed": 3.1, "sql": 4.5}` (milliseconds) has them shown in a Server-Timing header and in the
request's line of the log, which also tells of an `answer` or of documents `stored`.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import telemetry

_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NOT_IN_A_TOKEN = re.compile(r"[^A-Za-z0-9_-]+")
_logger = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Give every request an id. Call it after `problems.install` and `metrics.install`, so that they know it."""
    app.add_middleware(RequestIds)


class RequestIds:
    """Sets `telemetry.request_id` and `request.state.request_id`, and logs one line a request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = chosen(scope)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        token = telemetry.request_id.set(request_id)
        began = time.perf_counter()
        status = 0

        async def labelled(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                if timings := state.get("timings"):
                    headers["Server-Timing"] = server_timing(timings)
            await send(message)

        try:
            await self.app(scope, receive, labelled)
        finally:
            _log(scope, status, (time.perf_counter() - began) * 1000)
            telemetry.request_id.reset(token)


def server_timing(timings: Mapping[str, float]) -> str:
    """`{"embed": 3.14159}` in milliseconds as `embed;dur=3.14`; a name keeps only what a header token may hold."""
    return ", ".join(f"{_NOT_IN_A_TOKEN.sub('_', name)};dur={ms:.2f}" for name, ms in timings.items())


def chosen(scope: Scope) -> str:
    """The caller's own id if it is sane, else a new one."""
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _SANE.fullmatch(given) else uuid.uuid4().hex


def _log(scope: Scope, status: int, took_ms: float) -> None:
    fields = {"method": scope["method"], "path": scope["path"][:200], "status": status, "took_ms": round(took_ms, 1)}
    _logger.info("request", extra=fields | _told(scope.get("state", {})))


def _told(state: Mapping[str, Any]) -> dict[str, Any]:
    """What an endpoint left to be told: how a search went, what became of uploads."""
    told: dict[str, Any] = {}
    if timings := state.get("timings"):
        told["timings"] = {name: round(ms, 2) for name, ms in timings.items()}
    if (answer := state.get("answer")) is not None:
        told |= {"hits": len(answer.hits), "degraded": list(answer.degraded), "relaxed": list(answer.relaxed)}
    if (stored := state.get("stored")) is not None:
        told["documents"] = dict(Counter(document.status for document in stored))
    return told
