"""Lists the tools, and calls one by name with unvalidated arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from rapidfuzz import fuzz, process

from app import capability, errors
from app.query.search_request import Ranking, SearchRequest
from app.requests import field_suggestions
from app.tools import Tool, ToolContext

NEAREST_SCORE = 75
"""Least similarity, of 100, of an unknown name and the tool that is suggested for it."""
SEARCH_OPTIONS = {
    *SearchRequest.model_fields,
    *SearchRequest.moved,
    *Ranking.model_fields,
    *("created_after", "created_before", "file_types", "folder", "uri_prefix"),
}
"""Options of a search over REST. An unknown argument with such a name is hardly meant as a key of metadata."""


def list_all() -> tuple[Tool, ...]:
    """All tools, also those that the settings do not name."""
    return tuple(tool for tools in capability.declared("tools") for tool in tools)


def find(name: str, scopes: Collection[str] = ("admin",), *, optional: Collection[str] = ()) -> Tool:
    """The tool of this name, whatever its scope. An optional tool is found only if it is among `optional`.

    Raises NotFound, which names the nearest of the tools that a key with these scopes may call.
    """
    tool = next((each for each in list_all() if each.name == name), None)
    if tool is not None and (not tool.is_optional or name in optional):
        return tool
    if name in capability.optional_tools():
        raise errors.NotFound(f"The tool {name} is not offered here: the operator can name it in STEPWELL_TOOLS.")
    names = [each.name for each in list_offered(scopes, optional=optional)]
    nearest = process.extractOne(name, names, scorer=fuzz.WRatio, score_cutoff=NEAREST_SCORE)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"The tools are {', '.join(names)}."
    raise errors.NotFound(f"There is no such tool. {hint}")


def list_offered(scopes: Collection[str], *, optional: Collection[str] = ()) -> list[Tool]:
    """The tools that a key with these scopes may call; the optional ones only if they are among `optional`."""
    known = (tool for tool in list_all() if not tool.is_optional or tool.name in optional)
    return [tool for tool in known if {tool.scope, "admin"} & set(scopes)]


async def call(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Validate the arguments, run the tool, and return its result as JSON values.

    Raises RequestValidationError, and the errors of the pipelines: BadRequest, NotFound, Overloaded, …
    """
    try:
        given = tool.arguments.model_validate(arguments)
        run = partial(tool.handler, given, context.for_reading() if tool.only_reads else context)
        # The handler of a search admits it, and a write needs no place of a read.
        is_read = tool.only_reads and not tool.is_search
        return (await (context.admission.read(run) if is_read else run())).compact()
    except ValidationError as error:
        raise RequestValidationError(_argument_errors(error, tool), body=arguments) from error
    except errors.BadRequest as error:
        if error.field:
            error.field = error.field.removeprefix("filters.")  # conditions are arguments of their own
        raise


def _argument_errors(error: ValidationError, tool: Tool) -> list[dict[str, Any]]:
    """The errors of a tool's arguments, located in the body of a request. Unknown arguments have advice in `ctx`.

    An argument is not called missing if it was given under another name.
    """
    raised = error.errors(include_url=False, include_input=False)
    found: list[dict[str, Any]] = [
        {**each, "loc": ("body", *each["loc"]), "ctx": _context(each, tool)} for each in raised
    ]
    meant = {each["ctx"].get("nearest") for each in found}
    return [each for each in found if not (each["type"] == "missing" and each["loc"][-1] in meant)]


def _context(each: Any, tool: Tool) -> dict[str, Any]:
    context: dict[str, Any] = each.get("ctx", {})
    if each["type"] != "extra_forbidden" or len(each["loc"]) != 1:
        return context
    names, unknown = list(tool.arguments.model_fields), str(each["loc"][0])
    found = field_suggestions.advice(unknown, {name: name for name in names})
    if field_suggestions.means_one_of(unknown, SEARCH_OPTIONS) and found.get("nearest", "").startswith("metadata."):
        found = {}
    remark = f"The arguments are {', '.join(names)}." if names else "This tool has no arguments."
    return {"remark": remark} | context | found
