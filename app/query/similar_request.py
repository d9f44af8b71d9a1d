"""Defines the request for the neighbours of a passage or of a vector."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.database.filter_types import Filters
from app.kinds import Collapse, Detail
from app.query import moved_fields
from app.query.search_request import CHUNK_IDS_EXCLUDED, COLLAPSE, CURSOR, Cursor, Group, Limit
from app.requests import wire
from app.requests.filter_models import FILTERS, RequestFilters


class SimilarRequest(wire.WireModel):
    """A search for the neighbours of a stored chunk or of a vector; give exactly one of them."""

    moved = moved_fields.OF_SIMILAR

    chunk_id: UUID | None = Field(
        None, description="The chunk whose neighbours are returned, without the chunk itself."
    )
    vector: wire.Vector | None = Field(None, description="A vector with as many numbers as the stored vectors.")
    limit: Limit = Field(5, description="Maximum number of hits.")
    filters: RequestFilters = Field(default_factory=Filters, description=FILTERS)
    exclude_chunk_ids: wire.IdList = Field(default_factory=list, description=CHUNK_IDS_EXCLUDED)
    cursor: Cursor | None = Field(None, description=CURSOR)
    detail: Detail = Field("full", description="Text of each hit.")
    collapse: Collapse = Field("duplicates", description=COLLAPSE)
    group: Group | None = Field(None, description="Group the results by document.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.chunk_id is None) == (self.vector is None):
            raise PydanticCustomError("one_of", "Give either chunk_id or vector, and only one of them.")
        return self

    @property
    def is_collapsed(self) -> bool:
        """Whether duplicates are collapsed."""
        return self.collapse == "duplicates"

    @property
    def group_size(self) -> int | None:
        """The maximum number of further chunks of a result; None if results are not grouped."""
        return None if self.group is None else self.group.size

    @property
    def excluded(self) -> list[UUID]:
        """All chunks that must not be returned."""
        return [*self.exclude_chunk_ids, *([self.chunk_id] if self.chunk_id else [])]
