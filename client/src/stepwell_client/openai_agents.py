"""Registers the tools in the OpenAI Agents SDK. Needs the extra `openai-agents`."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from agents import FunctionTool

from stepwell_client import agent_tools
from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.models import ToolDefinition


async def tools(client: Client | AsyncClient, *, names: Collection[str] | None = None) -> list[FunctionTool]:
    """The tools that only read, or those named."""
    return [_tool(client, tool) for tool in await agent_tools.defined(client, names)]


def _tool(client: Client | AsyncClient, tool: ToolDefinition) -> FunctionTool:
    async def invoke(_context: Any, arguments: str) -> str:
        try:
            given = dict(json.loads(arguments or "{}") or {})
        except (TypeError, ValueError) as error:  # a model may write null, a list, or half of an object
            return agent_tools.correctable(error)
        return await agent_tools.call_async(client, tool.name, given)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
