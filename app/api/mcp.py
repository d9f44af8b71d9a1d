"""Serves MCP over streamable HTTP at /mcp: stateless, one JSON answer per POST, with the keys and limits of the API.

The route is part of the application's router rather than a mounted application: a mount answers POST /mcp with a
redirect that strict clients refuse, and its lifespan never runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.api import auth, bodies, mcp_server, tools
from app.api.mcp_server import McpCaller

PATH = "/mcp"
LIMITS = bodies.ListsRoute.limits
_ANY_SCOPE = auth.Scope("search", "write")


def install(app: FastAPI) -> StreamableHTTPSessionManager:
    """Add the route. It answers while `serving` the returned manager."""
    manager = StreamableHTTPSessionManager(
        mcp_server.build(_identify), json_response=True, stateless=True, max_request_body_size=LIMITS.max_bytes or 1
    )
    app.router.routes.append(Route(PATH, endpoint=_Endpoint(manager), methods=["POST"], name="mcp"))
    return manager


@asynccontextmanager
async def serving(manager: StreamableHTTPSessionManager) -> AsyncIterator[None]:
    """Run the manager during the block, in a task of its own: the task that opens its task group must close it."""
    started = asyncio.Event()

    async def run() -> None:
        async with manager.run():
            started.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await started.wait()
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class _Endpoint:
    """Authenticates the request and limits its body before the SDK reads it."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        await _ANY_SCOPE.authenticate(request)
        body = bodies.Body(request, LIMITS, max_bytes=LIMITS.max_bytes or 1)
        body.check_declared_length()
        await self._manager.handle_request(scope, body.receive, send)


def _identify(message: mcp_server.Request) -> McpCaller:
    assert message.request is not None
    request: Request = message.request
    caller: auth.Caller = request.state.caller
    return McpCaller(tools.context(request, caller.user_id), caller.scopes)
