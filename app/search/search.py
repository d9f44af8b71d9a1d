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
from app.relevance import cosines, relevance, unknown_names
from app.relevance.cosines import MeasuredModels
from app.search import completion, named_sources, pages, state, understanding
from app.search.state import SearchState
from app.services import Services
from app.text.names import names
from app.text.words import detection

LEAST_SHARE = 0.15
"""Share of the weights from which the vector leg says whether a query is answered: it has less with a model that does
not read the language."""


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
        wanted = pages.of_query(query, context)
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
    return replace(search, assessment=await _assess(search))


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


async def _assess(search: SearchState) -> relevance.Assessment | None:
    """What assesses the hits; None for a vector alone, of which nobody knows what it is the vector of."""
    if not search.parsed.text:
        return None
    result, is_foreign = search.result, _is_foreign(search)
    coverage = relevance.coverage(result.best_text_score, result.terms)
    return relevance.Assessment(
        search.request.fusion,
        cosine=await _cosine(search),
        coverage=coverage,
        is_foreign=is_foreign,
        is_literal=_is_literal(search, coverage),
        names_unknown=not is_foreign and bool(_unknown_names(search)),
        entities=search.effect,
        calibration=search.context.calibration or relevance.UNCALIBRATED,
    )


async def _cosine(search: SearchState) -> float | None:
    """The best cosine above that of unrelated texts; None without the vector leg, or if it counts next to nothing."""
    weights = search.weights
    if search.result.best_cosine is None or weights.vector < LEAST_SHARE * (weights.vector + weights.text):
        return None
    unrelated = await _unrelated_cosine(search.context)
    return None if unrelated is None else cosines.above(search.result.best_cosine, unrelated)


async def _unrelated_cosine(context: SearchContext) -> float | None:
    """The cosine of unrelated texts with the model of the search; None if it cannot be measured."""
    services = context.services
    embedder, measured = services.embedder, services.state(MeasuredModels)
    if embedder.model.unrelated is not None:
        return embedder.model.unrelated
    async with context.waiting_for(embedder):
        return await cosines.unrelated(embedder, measured, timeout_s=services.budget.embed_s)


def _is_literal(search: SearchState, coverage: float | None) -> bool:
    """Whether hits contain the phrases of the query, or all words of one that is no question."""
    if search.is_relaxed or search.parsed.phrases:
        return not search.is_relaxed
    words = relevance.own_words(search.result.terms)
    if search.parsed.query_type == "conceptual" or not all(word.df for word in words):
        return False
    return len(words) == 1 or (coverage or 0.0) >= relevance.WHOLE


def _is_foreign(search: SearchState) -> bool:
    """Whether the query is in another language than the best hit."""
    if not search.lacks_words:
        return False
    return not detection.may_be_in(search.parsed.text, search.result.candidates[0].config)


def _unknown_names(search: SearchState) -> list[str]:
    """The names of the query that neither a document nor an entity has, in any spelling that was searched for."""
    if not search.lacks_words:
        return []
    lexical, result = search.request.lexical, search.result
    stored = {term.lexeme for term in result.terms if term.df}
    added = [one.word for one in lexical.added if stored.intersection(one.forms)] if lexical else []
    known = search.name_words.union(*map(names.words, added))
    return unknown_names.find(search.parsed.text, result.terms, config=result.candidates[0].config, known_words=known)
