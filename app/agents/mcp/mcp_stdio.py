"""Serves the tools over MCP on stdin and stdout with services of this process."""

from __future__ import annotations

import asyncio

from mcp.server.stdio import stdio_server

from app import runtime
from app.agents.mcp import mcp_server
from app.jobs import kinds
from app.services import Services
from app.settings import Settings
from app.tools.context import ToolContext, Unrestricted

MAX_CONCURRENT, POOL_SIZE = 2, 6
"""Calls that run at once, and connections for them and for background jobs; the others wait."""


async def run(settings: Settings, user_id: str) -> None:
    """Serve one client until it closes stdin, and run background jobs meanwhile."""
    async with runtime.open_services(settings, pool_size=POOL_SIZE) as services:
        working = asyncio.create_task(_work(services) if settings.worker else asyncio.sleep(0))
        context = ToolContext(services, user_id, admission=Unrestricted(user_id, services.budget.whole_s))
        server = mcp_server.build(lambda _request: context, turns=asyncio.Semaphore(MAX_CONCURRENT))
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def _work(services: Services) -> None:
    """Run background jobs, such as those of sources, while the client is connected."""
    await kinds.run_forever(services, done=lambda _kind, _count: None)
