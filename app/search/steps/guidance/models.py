"""Defines the request model of a search for entities."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app import limits
from app.query.search_request import Share
from app.requests import wire
from app.search.steps.guidance.entity_search import EntityQuery


class EntitySearchRequest(wire.WireModel):
    """A search for entities by a name in any spelling, a role, a team, or what is known about them."""

    query: wire.QueryText = Field(examples=["who looks after the tide gauges"])
    type: Annotated[str, Field(max_length=limits.MAX_ENTITY_TYPE)] | None = Field(
        None, description="Only entities of this type, such as `person`."
    )
    min_score: Share = Field(0.0, description="Minimum score; 1 is an exact name, 0.5 what guides a search.")
    limit: Annotated[wire.Int, Field(ge=1, le=limits.MAX_HITS)] = Field(10, description="Maximum number of entities.")

    def shape(self, user_id: str) -> EntityQuery:
        """The search as a core type."""
        return EntityQuery(user_id, self.query, self.limit, self.type, self.min_score)
