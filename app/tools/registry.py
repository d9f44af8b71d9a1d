"""Lists the tools, and calls one by name with unvalidated arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from rapidfuzz import process

from app import errors
from app.tools import document_tools, feedback_tools, search_tools, source_tools
from app.tools.context import ToolContext
from app.tools.tool import Tool

TOOLS = (*search_tools.TOOLS, *document_tools.TOOLS, *source_tools.TOOLS, *feedback_tools.TOOLS)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def find(name: str) -> Tool:
    """The tool of this name. Raises NotFound, which names the nearest tool."""
    if (tool := _BY_NAME.get(name)) is not None:
        return tool
    nearest = process.extractOne(name, list(_BY_NAME), score_cutoff=60)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"The tools are {', '.join(_BY_NAME)}."
    raise errors.NotFound(f"There is no such tool. {hint}")


def offered(scopes: Collection[str], *, optional: bool = False) -> list[Tool]:
    """The tools that a key with these scopes may call; the optional ones only where they are configured."""
    known = (tool for tool in TOOLS if optional or not tool.is_optional)
    return [tool for tool in known if {tool.scope, "admin"} & set(scopes)]


async def call(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Validate the arguments, run the tool, and return its result as JSON values.

    Raises pydantic.ValidationError, and the errors of the pipelines: BadRequest, NotFound, Overloaded, …
    """
    given = tool.arguments.model_validate(arguments)
    if not tool.only_reads:
        return (await tool.handler(given, context)).compact()
    run = partial(tool.handler, given, context.for_reading())
    if tool in search_tools.TOOLS:  # which are admitted as searches
        return (await run()).compact()
    return (await context.admission.read(run)).compact()
