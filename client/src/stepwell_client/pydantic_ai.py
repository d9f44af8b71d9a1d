"""Registers the tools in pydantic-ai. Needs the extra `pydantic-ai`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic_ai import FunctionToolset, Tool

from stepwell_client import agent_tools
from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.models import ToolDefinition


async def toolset(client: Client | AsyncClient, *, names: Collection[str] | None = None) -> FunctionToolset[Any]:
    """A toolset of the tools that only read, or of those named."""
    selected = await agent_tools.defined(client, names)
    return FunctionToolset([_tool(client, tool) for tool in selected])


def _tool(client: Client | AsyncClient, tool: ToolDefinition) -> Tool[Any]:
    async def run(**arguments: Any) -> str:
        return await agent_tools.call_async(client, tool.name, arguments)

    return Tool.from_schema(
        run, name=tool.name, description=tool.description, json_schema=tool.input_schema, takes_ctx=False
    )
