"""Exports the tools as the definitions that the APIs of language models and MCP take, and as an OpenAPI document.

Model APIs reject or misread `$ref`, `anyOf` and open objects in a JSON Schema. An optional field therefore has the
plain type of its value. An argument that is null has its default; a result omits fields without a value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from app import __version__, enums
from app.enums import COMPAT_TOOLS, ToolFormat
from app.tools import Tool

FORMATS: tuple[ToolFormat, ...] = enums.values(ToolFormat)
_DROPPED = frozenset({"title", "format", "$defs"})
_MAPS = frozenset({"properties"})
_LEFT_OUT = frozenset({"description", "default"})
_PROBLEM_SCHEMA = {
    "type": "object",
    "properties": {
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {"type": "object", "properties": {"field": {"type": "string"}, "message": {"type": "string"}}},
        },
    },
}
_ABOUT = "Searches and reads the user's documents."
_REFUSED = {
    "description": "The call was refused or failed: `detail` says why; `errors` names wrong arguments and fixes.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def export(tools: Iterable[Tool], format: ToolFormat) -> list[dict[str, Any]]:
    """Returns the definitions of the tools in a format, as JSON values."""
    return [define(tool, format) for tool in tools]


def define(tool: Tool, format: ToolFormat) -> dict[str, Any]:
    """Returns the definition of a tool in a format, as JSON values."""
    arguments, named = _flat(tool.arguments), {"name": tool.name, "description": tool.description}
    match format:
        case "openai":  # most compatible servers take it too
            return {"type": "function", "function": {**named, "parameters": arguments}}
        case "openai-responses":  # strict mode would make every argument required
            return {"type": "function", **named, "parameters": arguments, "strict": False}
        case "anthropic":
            return {**named, "input_schema": arguments}
        case "gemini":  # this field accepts more of JSON Schema than `parameters`
            return {**named, "parameters_json_schema": arguments}
        case "mcp":
            hints = {"readOnlyHint": tool.only_reads, "destructiveHint": tool.scope == "write"}
            return {
                **named,
                "title": tool.title,
                "inputSchema": arguments,
                "outputSchema": _flat(tool.result, mode="serialization"),
                "annotations": {"title": tool.title, **hints, "idempotentHint": True, "openWorldHint": False},
            }


def openapi_document(tools: Iterable[Tool], *, server: str, needs_key: bool = True) -> dict[str, Any]:
    """An OpenAPI document with one typed operation for each tool, for platforms that import one.

    `server` is the address of the service. The document omits COMPAT_TOOLS, because they repeat other tools in
    the form that a platform asks for.
    """
    listed = [tool for tool in tools if tool.name not in COMPAT_TOOLS]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stepwell tools", "version": __version__, "description": _ABOUT},
        "servers": [{"url": server}],
        "security": [{"key": []}] if needs_key else [],  # with one, Google ADK waits for a key
        "paths": {f"/api/rag/tools/{tool.name}": {"post": _operation(tool)} for tool in listed},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {"Refused": _REFUSED},
            # Only names and types of results: platforms pass the whole document to a model.
            "schemas": {
                "Problem": _PROBLEM_SCHEMA,
                **{tool.result.__name__: _types(_flat(tool.result, mode="serialization")) for tool in listed},
            },
        },
    }


def _operation(tool: Tool) -> dict[str, Any]:
    arguments = _flat(tool.arguments)
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
            "default": {"$ref": "#/components/responses/Refused"},
        },
    }


def _types(schema: dict[str, Any]) -> dict[str, Any]:
    """Removes what a caller does not need from a schema: descriptions, defaults and `additionalProperties: false`."""
    kept = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
    if "properties" in kept:
        kept["properties"] = {name: _types(value) for name, value in kept["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(kept.get(name), dict):
            kept[name] = _types(kept[name])
        elif name == "additionalProperties":
            kept.pop(name, None)
    return kept


def _flat(model: type[BaseModel], *, mode: Any = "validation") -> dict[str, Any]:
    """Returns the schema of a model as one object, without its description: a tool has its own description."""
    schema = model.model_json_schema(mode=mode)
    schema.pop("description", None)
    plain: dict[str, Any] = _plain(schema, schema.get("$defs", {}))
    return plain


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**definitions[node["$ref"].rpartition("/")[2]], **{k: v for k, v in node.items() if k != "$ref"}}
    branches = [branch for branch in node.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:  # a union with null: take the other branch and the annotations of the union
        around = {k: v for k, v in node.items() if k != "anyOf" and (k, v) != ("default", None)}
        node = {**branches[0], **around}
    return {
        name: {k: _plain(v, definitions) for k, v in value.items()} if name in _MAPS else _plain(value, definitions)
        for name, value in node.items()
        if name not in _DROPPED
    }
