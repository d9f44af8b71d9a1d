"""Serves MCP over streamable HTTP at /mcp: stateless, one JSON answer per POST, with the keys and limits of the API.

The route is part of the application's router rather than a mounted application: a mount answers POST /mcp with a
redirect that strict clients refuse, and its lifespan never runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.agents import api as agents_api
from app.http import auth, bodies
from app.tools import ToolContext

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from app.agents.mcp import mcp_server

PATH = "/mcp"
LIMITS = bodies.ListsRoute.limits
MAX_BYTES = LIMITS.max_bytes or 1
_ANY_SCOPE = auth.Scope("search", "write")


def install(app: FastAPI, _settings: object) -> None:
    """Add the route. It answers inside `serving`."""
    for path in (PATH, f"{PATH}/"):  # clients add a slash
        app.router.routes.append(Route(path, endpoint=_Endpoint(), methods=["POST"], name="mcp"))


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Accept requests during the block; each start has its own manager of sessions, which runs only once."""
    sessions = _Sessions()
    app.state.mcp_sessions = sessions
    running = asyncio.create_task(sessions.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class _Sessions:
    """The session manager, which starts with the first request, in a task of its own.

    The task that opens the manager's task group must close it. Importing the SDK in a thread lets other requests go on.
    """

    def __init__(self) -> None:
        self._wanted = asyncio.Event()
        self._started: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()

    async def manager(self) -> StreamableHTTPSessionManager:
        """The running manager. Its failure to start is raised by every request."""
        self._wanted.set()
        return await asyncio.shield(self._started)

    async def run(self) -> None:
        """Run the manager from the first request until this is cancelled."""
        await self._wanted.wait()
        try:
            opened = await asyncio.to_thread(_new_manager)
            async with opened.run():
                self._started.set_result(opened)
                await asyncio.Event().wait()
        except Exception as failure:
            if self._started.done():
                raise
            self._started.set_exception(failure)
        finally:
            self._started.cancel()


def _new_manager() -> StreamableHTTPSessionManager:
    """A manager that answers each POST with one JSON answer and keeps no state between them."""
    # The SDK takes a fifth of the time that importing the service takes.
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from app.agents.mcp import mcp_server

    return StreamableHTTPSessionManager(
        mcp_server.build(_context), json_response=True, stateless=True, max_request_body_size=MAX_BYTES
    )


def _context(message: mcp_server.Request) -> ToolContext:
    assert message.request is not None
    request: Request = message.request
    return agents_api.context(request, request.state.caller.user_id)


class _Endpoint:
    """Authenticates the request and limits its body before the SDK reads it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        await _ANY_SCOPE.authenticate(request)
        auth.required_version(request)
        body = bodies.Body(request, LIMITS, max_bytes=MAX_BYTES)
        body.check_declared_length()
        sessions = await request.app.state.mcp_sessions.manager()
        await sessions.handle_request(scope, body.receive, send)
