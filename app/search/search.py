"""Answers one query: understand → match entities → recall → guide → relax → order → page → complete."""

from __future__ import annotations

from dataclasses import replace

from app import errors
from app.concurrency.limiter import UNLIMITED, Released
from app.database.transactions import retry_read
from app.query import model_switch
from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.types import Answer, HybridResult
from app.relevance import relevance
from app.search import completion, named_sources, ordering, pages, understanding
from app.search.candidates import Candidates, Ranked, Recalled
from app.search.steps import relaxation
from app.search.steps.corrections import corrections
from app.search.steps.guidance import guidance, matching
from app.search.steps.guidance.guidance import AppliedGuidance, Unguided
from app.search.steps.guidance.matching import EntityMatches
from app.search.steps.guidance.store.entity_cache import EntityCache
from app.search.steps.synonyms import synonyms
from app.search.steps.synonyms.store import SynonymCache
from app.search.store import recall
from app.search.understanding import Understanding
from app.services import Services


async def run(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one query with the model whose vectors are stored; see `answer`."""
    return await model_switch.run(services.embedder, services.db, lambda: answer(query, user_id, services, turn))


async def answer(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one query.

    Raises BadRequest for a minimum relevance with a model that is not calibrated, `invalid_cursor`,
    `stale_cursor`, DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. A failing embedder
    or re-ranker degrades the answer instead.
    """
    check(query, services)
    query = query.completed(mode="auto")
    context = SearchContext(services, user_id, turn)
    with context.timed("total"):
        wanted = pages.of_query(query, context)
        context.moment = wanted.moment
        ranking = await ranked(query, context)
        page = await pages.of_ranking(ranking, wanted, context)
        return await completion.run(ranking, page, context)


def check(query: SearchRequest, services: Services) -> None:
    """Raises BadRequest for a minimum relevance that cannot be assessed."""
    if query.ranking.min_relevance is None:
        return
    model = services.embedder.model.name
    if not relevance.is_calibrated(model):
        raise errors.BadRequest(
            f"Relevance is not calibrated for the embedding model {model}: use ranking.min_confidence.",
            field="ranking.min_relevance",
        )
    if query.query is None:
        raise errors.BadRequest(
            "A vector alone has no relevance: use ranking.min_vector_score.", field="ranking.min_relevance"
        )


async def ranked(query: SearchRequest, context: SearchContext, *, keep_all: bool = False) -> Ranked:
    """The hits in their final order; `keep_all` keeps those that MMR does not select, after the others."""
    found = await candidates(query, context, ahead=1)
    hits = await ordering.run(query, found.hits, found.recalled, context, keep_all=keep_all)
    return Ranked(found, hits)


async def candidates(query: SearchRequest, context: SearchContext, *, ahead: int = 0) -> Candidates:
    """What is found before re-ranking, in the order of fusion and guidance.

    `ahead` is the number of candidates beyond those that the answer needs. Raises DatabaseUnavailable.
    """
    understood = await understanding.run(query, context, ahead=ahead)
    understood, matches, result, applied = await _recalled(query, understood, context)
    if understood.request.lexical and understood.request.lexical.corrections:
        context.relaxed.append(corrections.NAME)
    request, result = await relaxation.run(understood, result, context)
    effect = guidance.mean_effect(result.candidates, applied)
    recalled = Recalled.of(understood, request, result, context, effect)
    hits = guidance.ordered(completion.unranked(result), applied)
    return Candidates(query, recalled, matches, applied, hits, relaxed=request is not understood.request)


@retry_read
async def _recalled(
    query: SearchRequest, understood: Understanding, context: SearchContext
) -> tuple[Understanding, EntityMatches, HybridResult, AppliedGuidance]:
    """Match the query's entities, run the hybrid statement and apply the entities to it, in one transaction.

    The statement is run again with corrections of misspelt words, if there are any.
    """
    services = context.services
    async with services.db.searching(context.user_id, candidates=query.ranking.candidates) as reading:
        context.version, context.calibration = reading.version, reading.calibration
        with context.timed("pass1"):
            # Descriptions of entities are compared with the vector of the text only.
            vector = understood.request.vector if query.vector is None else None
            matches = await matching.run(reading, query, understood.parsed, vector, cache=services.state(EntityCache))
        with context.timed("recall"):
            request = await synonyms.expanded(reading, understood.request, services.state(SynonymCache).of_versions)
            result = await recall.hybrid(reading, guidance.widened(request, query, matches))
            if corrected := await corrections.corrected(reading, request, understood.parsed, result):
                request = corrected
                result = await recall.hybrid(reading, guidance.widened(request, query, matches))
            unguided = Unguided(query, understood.parsed, request, result)
            applied = await guidance.run(reading, unguided, matches, cache=services.state(EntityCache))
        await named_sources.read(context, (*result.candidates, *applied.added), reading)
    found = replace(understood, request=request)
    return found, matches, replace(result, candidates=(*result.candidates, *applied.added)), applied
