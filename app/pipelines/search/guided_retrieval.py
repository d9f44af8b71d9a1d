"""Retrieves for a query: matches entities, searches both legs, relaxes an empty result, and orders the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.pipelines.guidance import entity_match
from app.pipelines.guidance.entity_match import EntityMatches
from app.pipelines.running.context import SearchContext
from app.pipelines.search import answers, entity_search, retrieval
from app.pipelines.search.answers import HitLink
from app.pipelines.search.entity_search import GuidedResult
from app.pipelines.search.retrieval import Retrieval
from app.pipelines.search.understanding import Understanding
from app.shapes import Hit, Query
from app.store.connection.transactions import retry_read


@dataclass(frozen=True, slots=True)
class GuidedRetrieval:
    """What was retrieved, the query's entities and how they are applied, and the hits in the order of both."""

    retrieved: Retrieval
    matches: EntityMatches
    guidance: GuidedResult
    hits: Sequence[Hit]

    def link_of(self, hit: Hit | None) -> HitLink:
        """How a hit of the retrieval is linked to the query's entities."""
        if hit is None or hit.parent is None:
            return HitLink()
        is_sure = hit.candidate.document_id in self.guidance.linked_documents
        return HitLink(is_sure, self.guidance.aboutness * hit.parent.score)


async def run(query: Query, understood: Understanding, context: SearchContext) -> GuidedRetrieval:
    """Run both legs, apply the entities, and relax the query if nothing is found. Raises DatabaseUnavailable."""
    matches, guidance = await _recall(query, understood, context)
    retrieved = await retrieval.completed(understood, guidance.result, context)
    hits = entity_search.ordered(answers.unranked(retrieved), guidance, query.guidance)
    return GuidedRetrieval(retrieved, matches, guidance, hits)


@retry_read
async def _recall(
    query: Query, understood: Understanding, context: SearchContext
) -> tuple[EntityMatches, GuidedResult]:
    """Match the query's entities and run the hybrid statement, guided by them or not, in one transaction."""
    services = context.services
    async with services.db.searching(query.user_id, candidates=query.candidates) as reading:
        context.version = reading.version
        with context.timed("pass1"):
            matches = await entity_match.run(
                reading, query, understood.parsed, understood.request.vector, cache=services.entity_cache
            )
        with context.timed("recall"):
            guided = await entity_search.run(reading, query, understood, matches, cache=services.entity_cache)
    return matches, guided
