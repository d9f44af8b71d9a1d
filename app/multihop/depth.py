"""Answers a query by one search or over several hops, as requested or as the query suggests.

Following links pays where a question contains names: on three sets of questions over several documents it gains 96 % of
multi-hop search's nDCG in half of its extra time, and on two others it loses at most .001 (docs/multihop.md). A query
about a person, project or team that the user has described is left to entity guidance.
"""

from __future__ import annotations

import time
from dataclasses import replace

from app.concurrency.limiter import Released
from app.database.transactions import retry_read
from app.kinds import DepthReason, DepthUsed
from app.multihop import multihop
from app.query.matches import EntityMatch
from app.query.search_request import SearchRequest
from app.query.types import Answer
from app.search import search
from app.search.steps.guidance import entity_scores, matching
from app.search.steps.guidance.store.entity_cache import EntityCache
from app.services import Services
from app.text.names import names
from app.text.queries import analysis
from app.text.queries.parsed_query import ParsedQuery

BEST, MIN_TITLE_WORDS = 5, 2
"""Best hits whose titles are looked for in a query without names, and the least number of words of such a title."""
DIRECT_TYPES = ("phrase", "technical")
"""Types of queries that look something up literally."""


async def answer(query: SearchRequest, user_id: str, services: Services, turn: Released) -> Answer:
    """The answer of a request whose depth is `auto` or `thorough`.

    `auto` only follows links unless a language model is configured, whose questions are worth the time.
    """
    depth = query.depth
    began = time.perf_counter()
    reason: DepthReason = "requested" if depth != "auto" else await _reason(query, user_id, services)
    used: DepthUsed = depth if depth != "auto" else "thorough" if reason == "names" else "fast"
    chosen = time.perf_counter()
    if used == "fast":
        found = await search.answer(query, user_id, services, turn)
        if reason != "no_names" or not _contains_title(found):
            return _with_depth(found, used, reason, chosen - began)
        used, reason, chosen = "thorough", "names", time.perf_counter()
    follow_only = depth == "auto" and services.llm is None
    found = await multihop.answer(query, user_id, services, turn, follow_only=follow_only)
    return _with_depth(found, used, reason, chosen - began)


def _with_depth(answer: Answer, used: DepthUsed, reason: DepthReason, seconds: float) -> Answer:
    """The answer with its depth, and with the time that choosing it took as a stage of its own."""
    timings = answer.timings
    if reason != "requested":
        chosen = round(seconds * 1000, 3)
        timings = {"depth": chosen, **timings, "total": round(timings.get("total", 0.0) + chosen, 3)}
    return replace(answer, depth=used, depth_reason=reason, timings=timings)


def _contains_title(answer: Answer) -> bool:
    """Whether the query contains the title of one of the best hits, as a name without capitals."""
    return any(
        "title" in hit.strategies and len(names.words(hit.candidate.title)) >= MIN_TITLE_WORDS
        for hit in answer.hits[:BEST]
    )


async def _reason(query: SearchRequest, user_id: str, services: Services) -> DepthReason:
    """What decides: `names` for several hops, any other for a search."""
    if multihop.unsupported(query):
        return "options"
    query = query.completed(mode="auto")
    parsed = analysis.parse(query.text)
    if query.mode != "auto" or parsed.query_type in DIRECT_TYPES or parsed.required or parsed.groups:
        return "literal"
    matches = await _entities(query, parsed, user_id, services)
    if any(not entity_scores.is_automatic(match.origin, match.type) for match in matches):
        return "entity"
    written = {name.key for name in names.find(parsed.text)}
    titles = {match.key for match in matches if match.key and match.use.form == "full"}
    if not written | titles:
        return "no_names"
    return "only_names" if _has_only(parsed, written | titles) else "names"


@retry_read
async def _entities(query: SearchRequest, parsed: ParsedQuery, user_id: str, services: Services) -> list[EntityMatch]:
    """The entities that the query names."""
    async with services.db.searching(user_id, candidates=query.ranking.candidates) as reading:
        matches = await matching.run(reading, query, parsed, None, cache=services.state(EntityCache))
    return [match for match in matches.all if match.key]


def _has_only(parsed: ParsedQuery, keys: set[str]) -> bool:
    """Whether the query consists of names, so that it asks nothing about them."""
    named = {word for key in keys for word in key.split()}
    return all(word in named for word in names.words(parsed.text))
