"""Answers one query: retrieves through both legs, applies entity guidance, re-ranks, and builds the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app import errors
from app.pipelines.guidance.entity_match import EntityMatches
from app.pipelines.running import model_switch, turns
from app.pipelines.running.context import SearchContext
from app.pipelines.running.services import Services
from app.pipelines.running.turns import SearchTurn
from app.pipelines.search import answers, entity_search, final_order, guided_retrieval, pages, snippets, understanding
from app.pipelines.search.entity_search import GuidedResult
from app.pipelines.search.pages import HybridRun, Page, PageRequest
from app.pipelines.search.retrieval import Retrieval
from app.ranking import relevance
from app.shapes import Answer, Hit, Query
from app.text.words import cleaning


@dataclass(frozen=True, slots=True)
class RankedSearch:
    """A search up to the order of its hits.

    `guided` are the hits in the order that fusion and entities give them, `hits` in the final order.
    """

    query: Query
    matches: EntityMatches
    guidance: GuidedResult
    retrieved: Retrieval
    guided: Sequence[Hit]
    hits: Sequence[Hit]
    completion: answers.Completion


@model_switch.repeated
async def run(query: Query, services: Services, turn: SearchTurn = turns.UNLIMITED) -> Answer:
    """Answer one query.

    Raises BlankQuery, BadRequest for a minimum relevance with a model that is not calibrated, InvalidCursor,
    StaleCursor, DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. A failing embedder or
    re-ranker degrades the answer instead.
    """
    check(query, services)
    context = SearchContext(services, query.user_id, turn)
    async with context.running():
        wanted = _page_wanted(query)
        search = await ranked(query, context)
        page = await _page(search, wanted, context)
        shown = list(map(search.completion.completed, page.hits))
        if query.snippets:
            shown = await snippets.added(shown, _texts(page.hits), search.retrieved, context)
        completed = replace(page, hits=tuple(shown))
        answer = answers.build(query, search.retrieved, context, completed)
        return entity_search.annotated(answer, search.matches, search.guidance)


def check(query: Query, services: Services) -> None:
    """Raises BlankQuery, and BadRequest for a minimum relevance with a model that is not calibrated."""
    if cleaning.is_blank(query.text):
        raise errors.BlankQuery
    model = services.embedder.model.name
    if query.min_relevance is not None and not relevance.is_calibrated(model):
        raise errors.BadRequest(
            f"Relevance is not calibrated for the embedding model {model}: use min_confidence.", field="min_relevance"
        )


async def ranked(query: Query, context: SearchContext, *, keep_all: bool = False) -> RankedSearch:
    """Retrieve and order the hits; `keep_all` keeps those that MMR does not select, after the others."""
    understood = await understanding.understand(query, context, ahead=1)
    found = await guided_retrieval.run(query, understood, context)
    retrieved, guidance = found.retrieved, found.guidance
    hits = await final_order.run(query, found.hits, retrieved, context, keep_all=keep_all)
    completion = answers.Completion(
        query, retrieved, guidance.linked_documents, guidance.aboutness, relaxed=bool(context.relaxed)
    )
    return RankedSearch(query, found.matches, guidance, retrieved, found.hits, hits, completion)


async def first_page(search: RankedSearch, context: SearchContext) -> Page:
    """The hits that answer the search, before they are completed."""
    return await _page(search, _page_wanted(search.query), context)


def _page_wanted(query: Query) -> PageRequest:
    return pages.request_of(pages.identity(query), query.cursor, limit=query.limit, group_size=query.group_size)


async def _page(search: RankedSearch, wanted: PageRequest, context: SearchContext) -> Page:
    retrieved = search.retrieved
    found = retrieved.result.candidates
    is_whole = not search.guidance.links and len(search.hits) == len(found) < retrieved.request.limit
    return await pages.read(
        search.hits,
        wanted,
        context,
        run=HybridRun(retrieved.request, retrieved.result, is_whole),
        is_wanted=search.completion.is_wanted if search.query.has_minimum else None,
    )


def _texts(hits: Sequence[Hit]) -> dict[UUID, str]:
    """The whole text of each hit, and of those in its `more`, by chunk id."""
    every = (one for hit in hits for one in (hit, *hit.more))
    return {one.candidate.chunk_id: one.candidate.content for one in every}
