"""Opens the session manager of the MCP SDK: stateless, one JSON answer per POST.

Only `app.agents.mcp.api` imports this module, with the first request to /mcp: the SDK takes a fifth of the time that
importing the service takes.
"""

from __future__ import annotations

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from app.agents import api as router
from app.agents.mcp import mcp_server
from app.http.authentication import auth
from app.tools.context import ToolContext


def manager(*, max_body_bytes: int) -> StreamableHTTPSessionManager:
    """A manager, which runs only once."""
    return StreamableHTTPSessionManager(
        mcp_server.build(_context), json_response=True, stateless=True, max_request_body_size=max_body_bytes
    )


def _context(message: mcp_server.Request) -> ToolContext:
    assert message.request is not None
    request: Request = message.request
    caller: auth.Caller = request.state.caller
    return router.context(request, caller.user_id)
