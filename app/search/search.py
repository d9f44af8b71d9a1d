"""Answers one query: understand → expand → recall → assess → order → page → finish; `search.state` has the steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from app import capability, errors
from app.concurrency.limiter import UNLIMITED, Released
from app.database import driver_errors
from app.database.transactions import retry_read
from app.query import model_replacement
from app.query.search_request import SearchRequest
from app.query.search_types import Answer
from app.relevance import cosine_scales, relevance, unknown_names
from app.search import answer_completion, hybrid_request, result_pages, source_names, state
from app.search.state import InTransaction, SearchContext, SearchState
from app.services import Services
from app.text.names import names
from app.text.words import languages

log = logging.getLogger(__name__)

LEAST_SHARE = 0.15
"""Least share of the weights with which the vector leg counts as evidence of an answer. The leg has less if the model
does not read the language of the query."""
SENTENCE, HEADINGS = 0.4, 0.2
"""Weights of the shares of the query that the closest sentence of a hit, and its title and headings, cover, beside the
score (docs/decisions/0002-fusion-weights.md)."""
NO_USER = ""
"""A user id without a key: its searches find nothing."""
WARM_UP = "warm-up query"
"""It is ASCII, because the first other text loads a library that repairs texts and takes 8 MB."""


async def run(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer a query by one search (depth `fast`) or over several hops (`thorough`); `auto` chooses.

    The query is embedded with the model of the stored vectors. Raises what `answer` and `multihop.answer` raise, and
    BadRequest if the depth `fast` has options of hops.
    """
    return await model_replacement.run(services.embedder, services.db, lambda: _run(query, user_id, services, turn))


async def _run(query: SearchRequest, user_id: str, services: Services, turn: Released) -> Answer:
    if query.depth == "fast":
        if query.ranking.hops is not None:
            raise errors.BadRequest("Needs the depth auto or thorough.", field="ranking.hops")
        return await answer(query, user_id, services, turn)
    (deeper,) = capability.declared("deeper")
    found: Answer = await deeper(query, user_id, services, turn)
    return found


async def answer(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """Answer one query by one search.

    Raises BadRequest for a minimum relevance with a vector but no text, `invalid_cursor`, `stale_cursor`,
    DatabaseUnavailable, and DeadlineExceeded when `services.budget.whole_s` is over. A failing embedder or re-ranker
    only degrades the answer.
    """
    check(query)
    query = query.completed(mode="auto")
    context = SearchContext(services, user_id, turn)
    with context.timed("total"):
        wanted = result_pages.request_of(query, context)
        context.moment = wanted.moment
        search = await state.run_steps("order", await candidates(query, context, ahead=1))
        page = await result_pages.of_search(search, wanted)
        hits = answer_completion.complete(page.hits, search)
        return await state.finish(search, answer_completion.answer_of(search, page, hits))


def check(query: SearchRequest) -> None:
    """Raises BadRequest for a minimum relevance that cannot be assessed."""
    if query.ranking.min_relevance is not None and query.query is None:
        raise errors.BadRequest(
            "A vector alone has no relevance: use ranking.min_vector_score.", field="ranking.min_relevance"
        )


async def candidates(
    query: SearchRequest,
    context: SearchContext,
    *,
    ahead: int = 0,
    keep_all: bool = False,
    also: InTransaction | None = None,
) -> SearchState:
    """Find the candidates before the final order, in the order of fusion and guidance.

    `ahead` is the number of candidates beyond what the answer needs. With `keep_all`, a step that selects hits keeps
    the others after them. `also` runs last in the transaction; its failure is ignored. Raises DatabaseUnavailable.
    """
    understood = await hybrid_request.understand(query, context, ahead=ahead)
    if keep_all:
        understood = replace(understood, keep_all=True)
    search = await _recall(understood, also)
    if search.wants_vector:  # no transaction is open while the model is called
        vector = await hybrid_request.embed(understood.parsed.text, context)
        search = await _recall(replace(understood, spare_vector=vector), also)
    context.degraded += search.degraded
    context.relaxed += search.relaxed
    shares = _shares(search)
    search = replace(search, assessment=await assess(search, shares))
    return _put_closer_first(search, shares)


@retry_read
async def _recall(search: SearchState, also: InTransaction | None) -> SearchState:
    """Run the hybrid statement, and the steps before and after it, in one transaction.

    If `also` fails, the result is what was found before.
    """
    query, context, found = search.query, search.context, None
    try:
        async with context.services.db.searching(context.user_id, candidates=query.ranking.candidates) as db:
            context.version, context.entered = db.version, db.entered
            search = await state.run_steps("expand", search, db)
            with context.timed("recall"):
                search = await search.recall(db, search.request)
            if search.request.weights.text > 0 and search.result.corpus_chunks and not search.result.terms:
                search = replace(search, degraded=("no_text_terms",))
            search = await state.run_steps("recall", search, db)
            await source_names.read(context, search.result.candidates, db)
            if also is not None:
                found = search
                return await also(search, db)
    except driver_errors.Rerouted:
        raise
    except errors.StepwellError:
        if found is None:
            raise
    return found or search


async def assess(search: SearchState, shares: Sequence[relevance.Shares]) -> relevance.Assessment | None:
    """The assessment of the hits; None for a vector alone, because its meaning is not known."""
    parsed, result = search.parsed, search.result
    if not parsed.text:
        return None
    best = next(iter(result.candidates), None)
    content, config = (best.content, best.config) if best else ("", "")
    lacks_words = search.lacks_words
    is_foreign = lacks_words and not languages.may_be_in(parsed.text, config, content)
    read, entered = search.context.services.embedder.model.languages, search.context.entered
    is_read = config in languages.configs_of(read) and not (is_foreign and len(read) == 1)
    return relevance.Assessment(
        search.request.fusion,
        cosine=await _cosine(search),
        closeness=shares[0].sentence if shares else None,
        is_foreign=is_foreign,
        is_read=not read or is_read,
        is_literal=_is_literal(search),
        names_unknown=lacks_words and not is_foreign and bool(_unknown_names(search, config)),
        entities=search.effect,
        calibration=(entered and entered.calibration) or relevance.UNCALIBRATED,
    )


def _shares(search: SearchState) -> list[relevance.Shares]:
    """How much of the query the best two candidates cover; empty without words."""
    lexical, found = search.request.lexical, search.result.terms
    terms = relevance.correct(found, lexical.added) if lexical and lexical.added else found
    best = [(one.content, " ".join((one.title, *one.heading_path)), one.config) for one in search.result.candidates[:2]]
    return relevance.shares(best or [("", "", "")], terms)


def _put_closer_first(search: SearchState, shares: Sequence[relevance.Shares]) -> SearchState:
    """Exchanges the first two hits and their scores if the second one covers so much more of the query.

    Not if one leg or RRF is asked for, if entities put other hits first, or if the query is in another language.
    """
    weights, assessment = search.result.weights, search.assessment
    two, best = search.hits[:2], search.result.candidates[:2]
    is_same = [hit.candidate.chunk_id for hit in two] == [one.chunk_id for one in best]
    is_fused = search.request.fusion == "convex" and weights.vector > 0 and weights.text > 0
    if len(shares) < 2 or not (is_fused and is_same) or assessment is None or assessment.is_foreign:
        return search
    first, second = two
    covered = [SENTENCE * one.sentence + HEADINGS * one.headings for one in shares]
    gain = covered[1] - covered[0]
    if first.candidate.score - second.candidate.score >= gain:
        return search
    exchanged = [
        second.rescored("closer", first.candidate.score, covered=covered[1], place_before=2),
        first.rescored("closer", second.candidate.score, covered=covered[0], place_before=1),
    ]
    return replace(search, hits=[*exchanged, *search.hits[2:]])


async def _cosine(search: SearchState) -> float | None:
    """How far the best cosine is above that of unrelated texts; None if unknown, or if the vector leg hardly counts.

    If the cosine of unrelated texts is not known for a model, it is measured.
    """
    weights, services = search.result.weights, search.context.services
    if search.result.best_cosine is None or weights.vector < LEAST_SHARE * (weights.vector + weights.text):
        return None
    unrelated = cosine_scales.known(services)
    if unrelated is None:
        async with search.context.waiting_for(services.embedder):
            unrelated = await cosine_scales.measure(services)
    return None if unrelated is None else cosine_scales.above(search.result.best_cosine, unrelated)


def _is_literal(search: SearchState) -> bool:
    """Whether hits contain the phrases of the query, or its only word or identifier."""
    if search.is_relaxed or search.parsed.phrases:
        return not search.is_relaxed
    words = relevance.own_words(search.result.terms) if len(search.parsed.words.split()) == 1 else []
    return bool(words) and all(word.df for word in words)


def _unknown_names(search: SearchState, config: str) -> list[str]:
    """The names of the query that no document and no entity has, in any spelling that was searched."""
    lexical, terms = search.request.lexical, search.result.terms
    stored = {term.lexeme for term in terms if term.df}
    added = [one.word for one in lexical.added if stored.intersection(one.forms)] if lexical else []
    known = search.name_words.union(*map(names.words, added))
    best = search.result.candidates[0]
    return unknown_names.find(
        search.parsed.text, terms, config=config, known_words=known, best=f"{best.title}\n{best.content}"
    )


async def warm_up(services: Services, *, concurrent: int) -> None:
    """Run as many searches at once as the service admits, on every server that it reads. Only logs a failure.

    The searches open the connections, plan the statements, run the embedding model, and import what a search needs, so
    that the first caller waits no longer than the next.
    """
    others = [services.for_request(route, only_reads=True) for route in await services.db.reads.others()]
    for one in (services, *others):
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(concurrent):
                    group.create_task(run(SearchRequest(query=f"{WARM_UP} {number}"), NO_USER, one))
        except* errors.StepwellError as failed:
            log.warning("warm-up failed: %s", failed.exceptions[0], extra={"action": "warmup_failed"})
