"""Answers one query: retrieves through both legs, applies entity guidance, re-ranks, and builds the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from app import errors
from app.pipelines import (
    answers,
    entity_match,
    entity_search,
    pages,
    rerank,
    retrieval,
    snippets,
    stale_chunks,
    turns,
    understanding,
)
from app.pipelines.context import SearchContext
from app.pipelines.entity_match import EntityMatches
from app.pipelines.entity_search import GuidedResult
from app.pipelines.pages import HybridRun
from app.pipelines.retrieval import Retrieval
from app.pipelines.services import Services
from app.pipelines.turns import SearchTurn
from app.pipelines.understanding import Understanding
from app.ranking import relevance
from app.shapes import Answer, Hit, Query
from app.store.db import retry_read, version
from app.text import cleaning


async def run(query: Query, services: Services, turn: SearchTurn = turns.UNLIMITED) -> Answer:
    """Answer one query.

    Raises BlankQuery, BadRequest for a minimum relevance with a model that is not calibrated, InvalidCursor,
    StaleCursor, DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. A failing embedder or
    re-ranker degrades the answer instead.
    """
    if cleaning.is_blank(query.text):
        raise errors.BlankQuery
    _check_minimum(query, services)
    context = SearchContext(services, query.user_id, turn)
    async with context.running():
        wanted = pages.request_of(pages.identity(query), query.cursor, limit=query.limit, group_size=query.group_size)
        understood = await understanding.understand(query, context, ahead=1)
        matches, guided = await _guided_recall(query, understood, context)
        retrieved = await retrieval.completed(understood, guided.result, context)
        hits = await _ranked(query, retrieved, guided, context)
        completion = answers.Completion(
            query, retrieved, guided.linked_documents, guided.aboutness, relaxed=bool(context.relaxed)
        )
        found = retrieved.result.candidates
        is_whole = not guided.links and len(hits) == len(found) < retrieved.request.limit
        page = await pages.read(
            hits,
            wanted,
            context,
            run=HybridRun(retrieved.request, retrieved.result, is_whole),
            is_wanted=completion.is_wanted if query.has_minimum else None,
        )
        shown = list(map(completion.completed, page.hits))
        if query.snippets:
            shown = await snippets.added(shown, _texts(page.hits), retrieved, context)
        completed = replace(page, hits=tuple(shown))
        answer = answers.build(query, retrieved, context, completed)
        return entity_search.annotated(answer, matches, guided)


def _check_minimum(query: Query, services: Services) -> None:
    model = services.embedder.model.name
    if query.min_relevance is not None and not relevance.is_calibrated(model):
        raise errors.BadRequest(
            f"Relevance is not calibrated for the embedding model {model}: use min_confidence.", field="min_relevance"
        )


@retry_read
async def _guided_recall(
    query: Query, understood: Understanding, context: SearchContext
) -> tuple[EntityMatches, GuidedResult]:
    """Match the query's entities and run the hybrid statement, guided by them or not, in one transaction."""
    services = context.services
    async with services.db.searching(query.user_id, candidates=query.candidates) as reading:
        context.version = version(reading)
        with context.timed("pass1"):
            matches = await entity_match.run(
                reading, query, understood.parsed, understood.request.vector, cache=services.entity_cache
            )
        with context.timed("recall"):
            guided = await entity_search.run(reading, query, understood, matches, cache=services.entity_cache)
    return matches, guided


def _texts(hits: Sequence[Hit]) -> dict[UUID, str]:
    """The whole text of each hit, and of those in its `more`, by chunk id."""
    every = (one for hit in hits for one in (hit, *hit.more))
    return {one.candidate.chunk_id: one.candidate.content for one in every}


async def _ranked(query: Query, retrieved: Retrieval, guided: GuidedResult, context: SearchContext) -> list[Hit]:
    """The candidates in the order that entities, re-ranking and MMR give them."""
    hits = entity_search.ordered(answers.unranked(retrieved), guided, query.guidance)
    if not rerank.is_wanted(query):
        return hits
    with context.timed("rerank"):
        ordered = await rerank.hits(hits, query, retrieved.parsed.text, retrieved.request.vector, context)
    context.degraded += ordered.degraded
    ranked = rerank.applied(hits, ordered)
    return await _still_stored(ranked, context) if query.rerank == "provider" else ranked


@retry_read
async def _still_stored(hits: Sequence[Hit], context: SearchContext) -> list[Hit]:
    """The hits whose documents were neither replaced nor deleted while the provider was called."""
    async with context.services.db.searching(context.user_id) as reading:
        stale = await stale_chunks.find([hit.candidate for hit in hits], context, reading)
    return [hit for hit in hits if hit.candidate.chunk_id not in stale]
