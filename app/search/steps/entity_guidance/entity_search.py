"""Finds the entities that a text names or describes, each with its score and the kind of match."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from app import limits
from app.concurrency.limiter import UNLIMITED, Released
from app.database.transactions import retry_read
from app.enums import Degraded, Vector
from app.query import model_replacement
from app.query.search_request import Share
from app.query.search_types import EntityMatch
from app.requests import field_types
from app.search import hybrid_request
from app.search.state import SearchContext
from app.search.steps.entity_guidance import entity_match_scores, entity_matching
from app.services import Services
from app.text.queries import query_parsing
from app.text.queries.parsed_query import ParsedQuery


class EntitySearchRequest(field_types.WireModel):
    """A search for entities by a name in any spelling, a role, a team, or what is known about them."""

    query: field_types.QueryText = Field(examples=["who looks after the tide gauges"])
    type: Annotated[str, Field(max_length=limits.MAX_ENTITY_TYPE)] | None = Field(
        None, description="Only entities of this type, such as `person`."
    )
    min_score: Share = Field(0.0, description="Minimum score; 1 is an exact name, 0.5 what guides a search.")
    limit: Annotated[field_types.Int, Field(ge=1, le=limits.MAX_HITS)] = Field(
        10, description="Maximum number of entities."
    )


@dataclass(frozen=True, slots=True)
class EntityAnswer:
    """The entities found, best first, and the inputs that could not be used."""

    entities: tuple[EntityMatch, ...]
    degraded: tuple[Degraded, ...] = ()
    took_ms: float = 0.0


async def run(query: EntitySearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> EntityAnswer:
    """Find the entities that the text names, in any spelling, or describes by role, team, facts or meaning.

    Raises DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. If the embedder fails,
    descriptions are not compared, and the answer says so.
    """
    return await model_replacement.run(services.embedder, services.db, lambda: _find(query, user_id, services, turn))


async def _find(query: EntitySearchRequest, user_id: str, services: Services, turn: Released) -> EntityAnswer:
    context = SearchContext(services, user_id, turn)
    parsed = query_parsing.parse(query.query)
    with context.timed("total"):
        vector = await hybrid_request.embed(parsed.text, context)
        matches = await _matches(parsed, vector, context)
    wanted = [match for match in matches if match.origin != "text" and query.type in (None, match.type)]
    best = entity_match_scores.best(wanted, limit=query.limit)
    found = tuple(match for match in best if match.score >= query.min_score)
    return EntityAnswer(found, tuple(context.degraded), context.timings["total"])


@retry_read
async def _matches(parsed: ParsedQuery, vector: Vector | None, context: SearchContext) -> list[EntityMatch]:
    async with context.services.db.searching(context.user_id) as reading:
        matches = await entity_matching.score_matches(reading, parsed, vector)
    # A search for entities takes every name as a name, even in lower case.
    return [replace(one, score=one.fit) if one.matched_by == "name" and one.use.words else one for one in matches]
