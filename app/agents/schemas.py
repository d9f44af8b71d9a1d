"""Writes the JSON Schema of a pydantic model for model APIs: without references, unions with null, and titles.

Model APIs reject or misread `$ref`, `anyOf` and open objects. An optional field therefore has the plain type of its
value: arguments accept null as the default, and results leave such a field out.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_DROPPED = frozenset({"title", "format", "$defs"})
_MAPS = frozenset({"properties"})


def flat(model: type[BaseModel], *, mode: Any = "validation") -> dict[str, Any]:
    """The schema of a model as one object; its description is dropped, because tools have their own."""
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
    if "anyOf" in node:
        node = _without_null(node)
    return {
        name: {k: _plain(v, definitions) for k, v in value.items()} if name in _MAPS else _plain(value, definitions)
        for name, value in node.items()
        if name not in _DROPPED
    }


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """A union with null as its other branch, with the annotations of the union."""
    branches = [branch for branch in node["anyOf"] if branch != {"type": "null"}]
    if len(branches) != 1:
        return node
    around = {k: v for k, v in node.items() if k != "anyOf" and (k, v) != ("default", None)}
    return {**branches[0], **around}
