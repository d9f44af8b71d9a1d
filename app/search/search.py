"""Answers one query: understand → expand → recall → order → page → finish; `search.state` has the steps."""

from __future__ import annotations

from dataclasses import replace

from app import errors
from app.concurrency.limiter import UNLIMITED, Released
from app.database.transactions import retry_read
from app.query import model_switch
from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.types import Answer
from app.search import assessing, completion, named_sources, pages, state, understanding
from app.search.state import SearchState
from app.services import Services


async def run(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one query with the model whose vectors are stored; see `answer`."""
    return await model_switch.run(services.embedder, services.db, lambda: answer(query, user_id, services, turn))


async def answer(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one query.

    Raises BadRequest for a minimum relevance of a vector without a text, `invalid_cursor`, `stale_cursor`,
    DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. A failing embedder or re-ranker
    degrades the answer instead.
    """
    check(query)
    query = query.completed(mode="auto")
    context = SearchContext(services, user_id, turn)
    with context.timed("total"):
        wanted = pages.request_of(query, context)
        context.moment = wanted.moment
        search = await state.order(await candidates(query, context, ahead=1))
        page = await pages.of_search(search, wanted)
        page = replace(page, hits=tuple(completion.complete(page.hits, search)))
        return await state.finish(search, completion.answer_of(search, page))


def check(query: SearchRequest) -> None:
    """Raises BadRequest for a minimum relevance that cannot be assessed."""
    if query.ranking.min_relevance is not None and query.query is None:
        raise errors.BadRequest(
            "A vector alone has no relevance: use ranking.min_vector_score.", field="ranking.min_relevance"
        )


async def candidates(
    query: SearchRequest, context: SearchContext, *, ahead: int = 0, keep_all: bool = False
) -> SearchState:
    """What is found before the final order, in the order of fusion and guidance.

    `ahead` is the number of candidates beyond those that the answer needs. Raises DatabaseUnavailable.
    """
    understood = await understanding.understand(query, context, ahead=ahead)
    search = await _recall(replace(understood, keep_all=keep_all))
    if search.wants_vector:  # no transaction is open while the model is called
        vector = await context.embed(understood.parsed.text)
        search = await _recall(replace(understood, keep_all=keep_all, spare_vector=vector))
    context.degraded += search.degraded
    context.relaxed += search.relaxed
    return replace(search, assessment=await assessing.assess(search))


@retry_read
async def _recall(search: SearchState) -> SearchState:
    """Run the hybrid statement, and the functions of the steps before and after it, in one transaction."""
    query, context = search.query, search.context
    async with context.services.db.searching(context.user_id, candidates=query.ranking.candidates) as db:
        context.version, context.calibration = db.version, db.calibration
        search = await state.run("expand", search, db)
        with context.timed("recall"):
            search = await search.run(db, search.request)
        if search.request.weights.text > 0 and not search.result.terms:
            search = replace(search, degraded=("no_text_terms",))
        search = await state.run("recall", search, db)
        await named_sources.read(context, search.result.candidates, db)
    return search
