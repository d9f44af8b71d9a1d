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

from app.api.access import auth, versions
from app.api.agents import mcp_server, router
from app.api.bodies import bodies
from app.tools.context import ToolContext

PATH = "/mcp"
LIMITS = bodies.ListsRoute.limits
_ANY_SCOPE = auth.Scope("search", "write")


def install(app: FastAPI) -> None:
    """Add the route. It answers inside `serving`."""
    app.router.routes.append(Route(PATH, endpoint=_Endpoint(), methods=["POST"], name="mcp"))


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Run the session manager during the block, in a task of its own: the task that opens its task group must close it.

    A manager runs only once, so each start of the application has its own. Its failure to start is raised here.
    """
    manager = StreamableHTTPSessionManager(
        mcp_server.build(_context), json_response=True, stateless=True, max_request_body_size=LIMITS.max_bytes or 1
    )
    started = asyncio.get_running_loop().create_future()

    async def run() -> None:
        try:
            async with manager.run():
                started.set_result(None)
                await asyncio.Event().wait()
        except Exception as failure:
            if started.done():
                raise
            started.set_exception(failure)

    running = asyncio.create_task(run())
    try:
        await started
        app.state.mcp_sessions = manager
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class _Endpoint:
    """Authenticates the request and limits its body before the SDK reads it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        await _ANY_SCOPE.authenticate(request)
        versions.required(request)
        body = bodies.Body(request, LIMITS, max_bytes=LIMITS.max_bytes or 1)
        body.check_declared_length()
        sessions: StreamableHTTPSessionManager = request.app.state.mcp_sessions
        await sessions.handle_request(scope, body.receive, send)


def _context(message: mcp_server.Request) -> ToolContext:
    assert message.request is not None
    request: Request = message.request
    caller: auth.Caller = request.state.caller
    return router.context(request, caller.user_id)
