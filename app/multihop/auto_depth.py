"""Answers a query by one search or over several hops, as requested or as the first search suggests.

Following links helps if a question contains names and its words are spread over passages (docs/multihop.md). A query
about a person, project or team that the user has described is left to entity guidance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app import errors, limits
from app.concurrency.limiter import Released
from app.database.transactions import retry_read
from app.enums import DepthReason, DepthUsed
from app.multihop import multihop
from app.query.search_request import SearchRequest
from app.query.search_types import Answer, Candidate, EntityMatch, Term
from app.relevance import relevance
from app.search import search
from app.search.steps.entity_guidance import entity_match_scores, entity_matching
from app.search.steps.entity_guidance.entity_matching import EntityCache
from app.services import Services
from app.text.names import names
from app.text.queries import query_parsing
from app.text.queries.parsed_query import ParsedQuery
from app.text.words import word_lists

BEST, MIN_TITLE_WORDS, MAX_TITLE_WORDS = 5, 2, 7
"""The number of best hits to read, and the least and the largest number of words in a title that counts as a name
without capitals; the largest number excludes function words. A longer title is a sentence."""
COMMON_DF, COMMON_IDF = 10, math.log(10)
"""A word in more than ten passages and more than a tenth of all is common."""
UNLIKELY = 0.45
"""In a script without capitals a search goes further if `answerable` is below this."""
MAX_WORDS = 32
"""Largest number of words in a question. A longer query is a text, and no passage has all of its words."""
DIRECT_TYPES = ("phrase", "technical")
"""Types of queries that search for something literally."""


async def answer(query: SearchRequest, user_id: str, services: Services, turn: Released) -> Answer:
    """Answer a request whose depth is `auto` or `thorough`.

    With `auto`, hops only follow links, unless a language model, whose questions are worth the time, is configured or
    the request names an extractor. They add hits below the best hit of the first search.
    """
    if query.depth != "auto":
        _check(query)
        return _with_depth(await multihop.answer(query, user_id, services, turn), query.depth, "requested")
    reason = _reason_before(query)
    is_later_page = query.cursor is not None and reason is None
    first_page = query.changed(cursor=None) if is_later_page else query
    found = await search.answer(first_page, user_id, services, turn)
    began = time.perf_counter()
    reason = reason or _reason(query_parsing.parse(query.text), found)
    if reason == "divided" and await _names_described(query.completed(mode="auto"), user_id, services):
        reason = "entity"
    spent = {"depth": round((time.perf_counter() - began) * 1000, 3)}
    if reason != "divided" and is_later_page:
        found = await search.answer(query, user_id, services, turn)
    if reason != "divided":
        return _with_depth(found, "fast", reason, spent)
    spent["first"] = found.took_ms
    _check(query)
    follow_only, first = services.llm is None, next((hit.candidate.chunk_id for hit in found.hits), None)
    found = await multihop.answer(query, user_id, services, turn, follow_only=follow_only, first=first)
    return _with_depth(found, "thorough", reason, spent)


def _unsupported(query: SearchRequest) -> str | None:
    """The first field of the query that a search over several hops does not support."""
    ranking = query.ranking
    used = {
        "limit": query.limit > limits.MAX_MULTIHOP_HITS,
        "vector": query.vector is not None,
        "ranking.min_vector_score": ranking.min_vector_score is not None,
        "ranking.min_rrf_score": ranking.min_rrf_score is not None,
        "ranking.min_confidence": ranking.min_confidence is not None,
        "ranking.min_relevance": ranking.min_relevance is not None,
    }
    return next((name for name, is_used in used.items() if is_used), None)


def _check(query: SearchRequest) -> None:
    """Raises BadRequest for an option that a search over several hops does not support."""
    field = _unsupported(query)
    if field == "limit":
        raise errors.BadRequest(f"A search over several hops has limits up to {limits.MAX_MULTIHOP_HITS}.", field=field)
    if field:
        message = "A search over several hops does not support this: leave it out or use depth fast."
        raise errors.BadRequest(message, field=field)
    if query.hops.merge == "classic" and query.hops.extractor == "none":
        message = "The merge classic searches with terms: choose an extractor."
        raise errors.BadRequest(message, field="ranking.hops.extractor")


def _with_depth(answer: Answer, used: DepthUsed, reason: DepthReason, spent: dict[str, float] | None = None) -> Answer:
    """Adds the depth to the answer, and the time of choosing the depth as separate stages."""
    timings = answer.timings
    if spent:
        timings = {**spent, **timings, "total": round(timings.get("total", 0.0) + sum(spent.values()), 3)}
    return replace(answer, depth=used, depth_reason=reason, timings=timings)


def _reason_before(query: SearchRequest) -> DepthReason | None:
    """Why one search is enough, whatever it finds; None if its hits must decide."""
    if _unsupported(query):
        return "options"
    parsed = query_parsing.parse(query.text)
    is_literal = parsed.query_type in DIRECT_TYPES or parsed.required or parsed.groups
    return "literal" if query.completed(mode="auto").mode != "auto" or is_literal else None


def _reason(parsed: ParsedQuery, found: Answer) -> DepthReason:
    """The reason for a depth, from the first search: `divided` for several hops, any other for one search."""
    if _describes(found.entities):
        return "entity"
    passages = [hit.candidate for hit in found.hits[:BEST]]
    titles = (one.title for one, hit in zip(passages, found.hits, strict=False) if "title" in hit.strategies)
    keys = {name.key for name in names.find(parsed.text)}
    keys |= {" ".join(words) for title in titles if _may_be_name(words := names.words(title), found.terms)}
    if not keys and parsed.text.islower() and parsed.query_type == "conceptual":
        keys = _written_names(parsed.text, found.terms, passages)
    if not keys:
        return "divided" if _is_unanswered(parsed.text, found, passages) else "no_names"
    is_question = len(names.words(parsed.text)) <= MAX_WORDS
    return "divided" if is_question and _is_divided(found.terms, keys, passages) else "together"


def _is_unanswered(text: str, found: Answer, passages: Iterable[Candidate]) -> bool:
    """Whether a question in a script without capitals is probably not answered, and passages have a rare word of it."""
    words = [term for term in relevance.own_words(found.terms) if term.df]
    is_unlikely = found.answerable is not None and found.answerable < UNLIKELY
    is_caseless = text.lower() == text.upper() and any(map(str.isalpha, text))
    if not (is_caseless and is_unlikely) or len(words) > MAX_WORDS:
        return False
    written = list(map(_text, passages))
    return any(relevance.contains(one, word) for word in words if word.df <= COMMON_DF for one in written)


def _written_names(text: str, terms: Iterable[Term], passages: Iterable[Candidate]) -> set[str]:
    """The names that passages write with capitals and the question in lower case, if they have a rare word."""
    rare = [term for term in terms if 0 < term.df <= COMMON_DF]
    written = {name.key for one in passages for name in names.find(f"{one.title}\n{one.content}")} if rare else set()
    asked = names.space(names.words(text))
    found = {key for key in written if names.space([key]) in asked}
    return {key for key in found if any(relevance.contains(names.space([key]), term) for term in rare)}


def _may_be_name(title: Sequence[str], terms: Iterable[Term]) -> bool:
    """Whether a title looks like a name that a query may contain in lower case.

    A title of common words, such as "information retrieval" in a library about it, is a subject.
    """
    counted = [word for word in title if word not in word_lists.FUNCTION_WORDS]
    text = names.space(title)
    own = (term for term in terms if term.df and relevance.contains(text, term))
    names_something = any(term.df <= COMMON_DF or term.idf >= COMMON_IDF for term in own)
    return len(title) >= MIN_TITLE_WORDS and len(counted) <= MAX_TITLE_WORDS and names_something


@retry_read
async def _names_described(query: SearchRequest, user_id: str, services: Services) -> bool:
    """Whether the query names an entity that the user or metadata has described."""
    async with services.db.searching(user_id, candidates=query.ranking.candidates) as reading:
        parsed, cache = query_parsing.parse(query.text), services.state(EntityCache)
        matches = await entity_matching.run(reading, query, parsed, None, cache=cache)
    return _describes(matches.all)


def _describes(matches: Iterable[EntityMatch]) -> bool:
    return any(match.key and not entity_match_scores.is_automatic(match.origin, match.type) for match in matches)


def _is_divided(terms: Iterable[Term], keys: set[str], passages: Iterable[Candidate]) -> bool:
    """Whether a passage has a name of the question, but none has all names and all words that documents contain.

    Without such a name there is nothing to follow.
    """
    texts = list(map(_text, passages))
    named = [{key for key in keys if names.space([key]) in text} for text in texts]
    words = [term for term in relevance.own_words(terms) if term.df]
    whole = (text for text, found in zip(texts, named, strict=True) if found == keys)
    return any(named) and not any(all(relevance.contains(text, word) for word in words) for text in whole)


def _text(passage: Candidate) -> str:
    """The words of a passage with its title and headings."""
    return names.space(names.words(" ".join((passage.title, *passage.heading_path, passage.content))))
