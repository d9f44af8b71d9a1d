"""Serves MCP over streamable HTTP at /mcp: stateless, one JSON answer per POST, with the keys and limits of the API.

The route is part of the application's router rather than a mounted application: a mount answers POST /mcp with a
redirect that strict clients refuse, and its lifespan never runs.
"""

from __future__ import annotations

import asyncio
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
_ANY_SCOPE = auth.Scope("search", "write")


def install(app: FastAPI, _settings: object) -> None:
    """Add the route."""
    for path in (PATH, f"{PATH}/"):  # clients add a slash
        app.router.routes.append(Route(path, endpoint=_Endpoint(), methods=["POST"], name="mcp"))


def _new_manager() -> StreamableHTTPSessionManager:
    """The SDK's handler of one POST, which answers with JSON and keeps no state."""
    # Imported here: the SDK takes a fifth of the time that importing the service takes.
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from app.agents.mcp import mcp_server

    return StreamableHTTPSessionManager(
        mcp_server.build(_context), json_response=True, stateless=True, max_request_body_size=LIMITS.max_bytes
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
        bodies.require(request, "application/json")
        body = bodies.Body(request, LIMITS)
        manager = await asyncio.to_thread(_new_manager)  # in a thread, as the first one imports the SDK
        failure: Exception | None = None
        async with manager.run():
            try:
                await manager.handle_request(scope, body.receive, send)
            except Exception as error:  # the task group would wrap it
                failure = error
        if failure is not None:
            raise failure
