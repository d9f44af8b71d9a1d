"""Serves the facets of documents: keys of metadata, or folders and file types."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from app.facets import operations as facets
from app.facets.types import MAX_VALUES_OF_KEY, FacetQuery, FacetsOf
from app.http import auth, bodies, parameters, problems
from app.http.responses import Response


class MetadataValue(Response):
    """A value of a key."""

    value: Any = Field(description="The value: a string, a number, a boolean or null.")
    documents: int = Field(description="Number of documents that have it.")


class MetadataKey(Response):
    """A key of metadata."""

    key: str = Field(description="The key.")
    documents: int = Field(description="Number of documents that have it.")
    types: dict[str, int] = Field(
        description="Number of documents by the type of the value: string, number, boolean, null, list or object."
    )
    distinct: int = Field(description="Number of its values; the elements of lists are values, objects are not.")
    values: list[MetadataValue] = Field(description="Its values, those of most documents first.")


class MetadataKeys(Response):
    """The keys of metadata."""

    facets: list[MetadataKey] = Field(description="Keys, those of most documents first; at most 100.")


router = bodies.router("documents")


@router.get(
    "/facets",
    summary="List keys and values of metadata, or folders and file types",
    responses=problems.responses(504),
)
async def list_facets(
    user_id: auth.Searcher,
    use: auth.ReadUse,
    filters: parameters.Filtered,
    key: Annotated[str | None, Query(max_length=200, description="Only this key.")] = None,
    prefix: Annotated[
        str | None,
        Query(max_length=200, description="Beginning of the keys, or with `key` of its values, in any case."),
    ] = None,
    limit: Annotated[int, Query(ge=0, le=MAX_VALUES_OF_KEY, description="Values per key.")] = 10,
    of: Annotated[
        FacetsOf,
        Query(
            description="With `files` the keys are `folder` and `file_type`, whose values are those of the filters "
            "`folder` and `file_types`. A folder counts the documents at any depth; one of all documents is left out."
        ),
    ] = "metadata",
) -> MetadataKeys:
    """The keys of the documents' metadata with types, values and exact numbers of documents."""
    found = await facets.run(FacetQuery(filters, key, prefix or "", limit, of), user_id, use)
    return MetadataKeys(facets=[MetadataKey.of(facet) for facet in found])
