"""Exports the tools as the definitions that the APIs of language models and MCP take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from app import kinds
from app.agents import schemas
from app.kinds import ToolFormat
from app.tools.tool import Tool

FORMATS: tuple[ToolFormat, ...] = kinds.values(ToolFormat)


def export(tools: Iterable[Tool], format: ToolFormat) -> list[dict[str, Any]]:
    """The definitions of the tools in a format, as JSON values."""
    return [_EXPORTS[format](tool) for tool in tools]


def openai(tool: Tool) -> dict[str, Any]:
    """A function tool of OpenAI's Chat Completions API; most compatible servers take it too."""
    return {"type": "function", "function": {**_named(tool), "parameters": schemas.flat(tool.arguments)}}


def openai_responses(tool: Tool) -> dict[str, Any]:
    """A function tool of OpenAI's Responses API. Not strict: strict mode would make every argument required."""
    parameters = schemas.flat(tool.arguments)
    return {"type": "function", **_named(tool), "parameters": parameters, "strict": False}


def anthropic(tool: Tool) -> dict[str, Any]:
    """A tool of Anthropic's Messages API."""
    return {**_named(tool), "input_schema": schemas.flat(tool.arguments)}


def gemini(tool: Tool) -> dict[str, Any]:
    """A function declaration of Gemini; `parameters` would refuse parts of JSON Schema that this field takes."""
    return {**_named(tool), "parameters_json_schema": schemas.flat(tool.arguments)}


def mcp(tool: Tool) -> dict[str, Any]:
    """A tool of the Model Context Protocol, with hints on what a call changes."""
    return {
        **_named(tool),
        "title": tool.title,
        "inputSchema": schemas.flat(tool.arguments),
        "outputSchema": schemas.flat(tool.result, mode="serialization"),
        "annotations": {
            "title": tool.title,
            "readOnlyHint": tool.only_reads,
            "destructiveHint": tool.scope == "write",
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


def _named(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description}


_EXPORTS: dict[ToolFormat, Callable[[Tool], dict[str, Any]]] = {
    "openai": openai,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "mcp": mcp,
}
