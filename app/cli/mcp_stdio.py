"""Serves the tools over MCP on stdin and stdout with services of this process."""

from __future__ import annotations

import asyncio

from mcp.server.stdio import stdio_server

from app import runtime
from app.api import mcp_server
from app.api.mcp_server import McpCaller
from app.config import Settings
from app.tools.context import ToolContext

SCOPES = frozenset({"search", "write"})
MAX_CONCURRENT, POOL_SIZE = 2, 4
"""Calls that run at once, and connections for them; the others wait."""


async def run(settings: Settings, user_id: str) -> None:
    """Serve one client until it closes stdin."""
    async with runtime.open_services(settings, pool_size=POOL_SIZE) as services:
        caller = McpCaller(ToolContext(services, user_id), SCOPES)
        server = mcp_server.build(lambda _request: caller, turns=asyncio.Semaphore(MAX_CONCURRENT))
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
