"""Defines the response models of the facets of metadata."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.http.contract.responses import Response


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
