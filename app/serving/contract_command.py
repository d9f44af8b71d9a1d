"""Implements `stepwell openapi`: prints the OpenAPI document, or the definitions of the tools for agents."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from app.agents import registry, tool_formats
from app.agents.mcp import mcp_server
from app.main import create_app
from app.settings import Settings

ALL_SCOPES = frozenset({"admin"})
Contract = Literal["api", "tools", "mcp"]


def openapi(
    contract: Annotated[
        Contract,
        typer.Option(help="api: the OpenAPI document; tools: definitions for model APIs; mcp: MCP's list of tools."),
    ] = "api",
) -> None:
    """Print the OpenAPI document, or the definitions of the tools; no database or network is needed."""
    typer.echo(text(contract), nl=False)


def text(contract: Contract = "api") -> str:
    """Returns the document in its committed form."""
    document: dict[str, Any]
    if contract == "api":
        document = create_app(Settings()).openapi()
    elif contract == "tools":
        offered = registry.list_offered(ALL_SCOPES)
        document = {format: tool_formats.export(offered, format) for format in tool_formats.FORMATS if format != "mcp"}
    else:
        tools = mcp_server.definitions(ALL_SCOPES)
        shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
        document = {"instructions": mcp_server.INSTRUCTIONS, "tools": shown}
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
