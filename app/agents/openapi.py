"""Describes the tools as an OpenAPI document with one typed operation each, for platforms that import one.

The tools of other platforms' contracts are left out: they are called over MCP, and do what other tools do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app import __version__
from app.agents import schemas
from app.tools.optional_tools import COMPAT_TOOLS
from app.tools.tool import Tool

_REFUSED = {
    "description": "The call was refused: `detail` names the argument and the fix, `errors` lists all wrong arguments.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_LEFT_OUT = frozenset({"description", "default"})
_PROBLEM_SCHEMA = {
    "type": "object",
    "properties": {
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


def document(tools: Iterable[Tool], *, server: str) -> dict[str, Any]:
    """The document; `server` is the address of the service. Calls of tools go to the paths of the REST API."""
    listed = [tool for tool in tools if tool.name not in COMPAT_TOOLS]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Stepwell tools",
            "version": __version__,
            "description": "Searches and reads the user's documents.",
        },
        "servers": [{"url": server}],
        "security": [{"key": []}],
        "paths": {f"/api/rag/tools/{tool.name}": {"post": _operation(tool)} for tool in listed},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {"Refused": _REFUSED},
            "schemas": {"Problem": _PROBLEM_SCHEMA, **{tool.result.__name__: _result(tool) for tool in listed}},
        },
    }


def _operation(tool: Tool) -> dict[str, Any]:
    arguments = schemas.flat(tool.arguments)
    body = {"content": {"application/json": {"schema": arguments}}}
    return {
        "operationId": tool.name,
        "description": tool.description,
        "requestBody": {"required": True, **body} if "required" in arguments else body,
        "responses": {
            "200": {
                "description": "The result.",
                "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{tool.result.__name__}"}}},
            },
            "422": {"$ref": "#/components/responses/Refused"},
        },
    }


def _result(tool: Tool) -> dict[str, Any]:
    """The names and types of a result's fields: platforms pass the whole document to a model."""
    types: dict[str, Any] = _types(schemas.flat(tool.result, mode="serialization"))
    return types


def _types(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without what a caller of the tool does not need: descriptions, defaults and that objects are closed."""
    kept = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
    if "properties" in kept:
        kept["properties"] = {name: _types(value) for name, value in kept["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(kept.get(name), dict):
            kept[name] = _types(kept[name])
        elif name == "additionalProperties":
            kept.pop(name, None)
    return kept
