"""Registers the tools in Google's Agent Development Kit. Needs the extra `adk`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from stepwell_client import agent_tools
from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.models import ToolDefinition


async def tools(client: Client | AsyncClient, *, names: Collection[str] | None = None) -> list[BaseTool]:
    """The tools that only read, or those named."""
    return [StepwellTool(client, tool) for tool in await agent_tools.defined(client, names)]


class StepwellTool(BaseTool):
    """A tool of the service."""

    def __init__(self, client: Client | AsyncClient, tool: ToolDefinition) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._client = client
        self._schema = tool.input_schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """The result as an object; a refused call as an object with `error`, which a model can correct."""
        try:
            if isinstance(self._client, Client):
                return await asyncio.to_thread(self._client.tools.call, self.name, args)
            return await self._client.tools.call(self.name, args)
        except agent_tools.Refused as error:
            return {"error": agent_tools.refusal(error)}
