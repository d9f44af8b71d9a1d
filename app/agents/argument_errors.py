"""Adds to the errors of a tool's arguments what an unknown argument probably stands for."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from app.requests import field_names
from app.tools.tool import Tool


def of(error: ValidationError, tool: Tool) -> list[dict[str, Any]]:
    """The errors, located in the body of a request; an unknown argument's has advice in its `ctx`."""
    raised = error.errors(include_url=False, include_input=False)
    return [{**each, "loc": ("body", *each["loc"]), "ctx": _context(each, tool)} for each in raised]


def _context(each: Any, tool: Tool) -> dict[str, Any]:
    context: dict[str, Any] = each.get("ctx", {})
    if each["type"] != "extra_forbidden" or len(each["loc"]) != 1:
        return context
    names, unknown = list(tool.arguments.model_fields), str(each["loc"][0])
    found = field_names.advice(unknown, {name: name for name in names})
    if field_names.is_search_option(unknown) and found.get("nearest", "").startswith("metadata."):
        found = {}
    return {"remark": _listed(names)} | context | found


def _listed(names: list[str]) -> str:
    return f"The arguments are {', '.join(names)}." if names else "This tool has no arguments."
