"""Defines the tool that lists the keys and values of metadata."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Self

from pydantic import Field

from app.database.filter_types import Filters
from app.facets import operations as facets
from app.facets.types import MAX_VALUES_OF_KEY, Facet, FacetQuery
from app.query import answer_hints
from app.requests import filter_models
from app.tools import NOTICE, ToolArguments, ToolContext, ToolResult, clamped, tool

MAX_VALUE = 200  # characters of a listed value: nobody filters by a longer text
_LITERAL = re.compile(r"true|false|null|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class ListFacetsArguments(ToolArguments):
    """Which facets to list."""

    key: Annotated[str, Field(max_length=200)] | None = Field(None, description="Only this key.")
    prefix: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="Beginning of the keys, or with `key` of its values."
    )
    metadata: filter_models.MetadataFilter = Field(default_factory=dict, description=filter_models.IN_SEARCHES)
    limit: Annotated[int, *clamped(1, MAX_VALUES_OF_KEY)] = Field(10, description="Values per key.")


class ToolFacet(ToolResult):
    """A key of metadata."""

    key: str = Field(description="The key.")
    types: list[str] = Field(description="Types of its values.")
    documents: int = Field(description="Number of documents that have it.")
    distinct: int = Field(description="Number of its values.")
    values: dict[str, int] = Field(
        description="The commonest values except long texts, with the number of documents of each."
    )

    @classmethod
    def of(cls, facet: Facet) -> Self:
        """The entry of a facet."""
        values = {_text(one.value, is_string=[*facet.types] == ["string"]): one.documents for one in facet.values}
        short = {value: documents for value, documents in values.items() if len(value) <= MAX_VALUE}
        return cls.show(facet, types=list(facet.types), values=short)


class FacetEntries(ToolResult):
    """Keys of metadata. Keys whose values are shared by many documents come first."""

    notice: str = Field(NOTICE, description="How to treat the texts.")
    facets: list[ToolFacet] = Field(description="Keys, those with shared values first.")
    no_results_because: str | None = Field(None, description="What to change, if no key is listed.")


def _text(value: Any, *, is_string: bool) -> str:
    """A value as a key of an object: JSON, but strings have no quotes unless they may be read as another type."""
    if not isinstance(value, str):
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False) if not is_string and _LITERAL.fullmatch(value) else value


async def list_facets(given: ListFacetsArguments, context: ToolContext) -> FacetEntries:
    """The keys of metadata with their types and commonest values. Keys whose values repeat most come first."""
    query = FacetQuery(Filters(metadata=given.metadata or None), given.key, given.prefix or "", given.limit)
    found = await facets.run(query, context.user_id, context.services)
    shared = sorted(found, key=lambda facet: (not facet.distinct, facet.distinct / facet.documents))
    reason = None if found or given.prefix else await _nothing_counted(given, context)
    return FacetEntries(facets=[ToolFacet.of(facet) for facet in shared], no_results_because=reason)


async def _nothing_counted(given: ListFacetsArguments, context: ToolContext) -> str | None:
    of_key = {given.key: {"exists": True}} if given.key else {}
    filters = Filters(metadata={**of_key, **given.metadata})
    missed = await facets.find_missed(filters, context.user_id, db=context.services.db)
    return " ".join(answer_hints.sentences(missed)) or None


TOOLS = (
    tool(
        list_facets,
        "List keys of metadata",
        "List the keys of the documents' metadata with their types, values and numbers of documents. Use it before "
        "filtering by `metadata`.",
    ),
)
