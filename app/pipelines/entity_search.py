"""Applies the entities of a query to retrieval (inside their documents) and to the order of hits (boost and blend).

If the entities guide the search, the hybrid statement runs inside the documents linked to them, and an unguided one
fills up the answer. Either way chunks that mention an entity named in the query are boosted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.pipelines import linked_search
from app.pipelines.entity_cache import EntityCache
from app.pipelines.entity_match import EntityMatches
from app.ranking import blending
from app.shapes import Answer, EntityMatch, Guidance, Hit, HybridRequest, HybridResult, Link, Query
from app.store import entity_lookup, recall
from app.store.db import Reading, SearchTransaction

log = logging.getLogger(__name__)

CANDIDATES_PER_HIT = 4
MIN_CANDIDATES, MAX_CANDIDATES = 50, 200
"""Candidates that are boosted and blended: four times the limit, within these bounds."""


@dataclass(frozen=True, slots=True)
class GuidedResult:
    """What was retrieved, and how entities were applied.

    `links` are the linked documents in which the search ran (empty if it was not guided, because of
    `fallback_reason`), `named` the entities that the query names, `mentions` how often each chunk mentions each.
    """

    result: HybridResult
    fallback_reason: str | None = None
    links: Mapping[UUID, Link] = field(default_factory=dict)
    named: Sequence[EntityMatch] = ()
    mentions: Mapping[UUID, Mapping[UUID, int]] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)


async def run(
    db: SearchTransaction, query: Query, request: HybridRequest, matches: EntityMatches, *, cache: EntityCache
) -> GuidedResult:
    """Retrieve inside the documents linked to the entities if these guide the search, else everywhere."""
    guidance = query.guidance
    named = matches.named if guidance.boost else []
    wide = replace(request, limit=max(request.limit, _candidates_wanted(query.limit)))
    inside = None
    if matches.fallback_reason is None:
        guiding = matches.guiding(guidance.threshold)
        inside = await linked_search.run(db, wide, guiding, alpha=guidance.alpha, cache=cache)
    if inside is None:
        everywhere = await recall.hybrid(db, wide if named else request)
        guided = GuidedResult(everywhere, matches.fallback_reason or "no_linked_documents")
    elif inside.result.candidates:
        guided = GuidedResult(await _filled(db, request, inside.result), None, inside.links, report=inside.report)
    else:
        everywhere = await recall.hybrid(db, wide if named else request)
        guided = GuidedResult(everywhere, "nothing_in_linked_documents", report=inside.report)
    if guided.fallback_reason and matches.all:
        extra = {"action": "two_pass_fallback", "reason": guided.fallback_reason}
        log.debug("entities not used: %s", guided.fallback_reason, extra=extra)
    chunk_ids = [candidate.chunk_id for candidate in guided.result.candidates]
    if not named or not chunk_ids:
        return guided
    mentions = await entity_lookup.mentions(db, request.user_id, chunk_ids=chunk_ids, entities=named)
    return replace(guided, named=named, mentions=mentions)


def _candidates_wanted(limit: int) -> int:
    return min(MAX_CANDIDATES, max(MIN_CANDIDATES, CANDIDATES_PER_HIT * limit))


async def _filled(db: Reading, request: HybridRequest, inside: HybridResult) -> HybridResult:
    """The candidates from the linked documents and, if they are fewer than the limit, the best from all others."""
    if len(inside.candidates) >= request.limit:
        return inside
    seen = tuple(candidate.chunk_id for candidate in inside.candidates)
    outside = await recall.hybrid(db, replace(request, exclude_chunk_ids=(*request.exclude_chunk_ids, *seen)))
    return replace(outside, candidates=(*inside.candidates, *outside.candidates))


def ordered(hits: Sequence[Hit], guided: GuidedResult, guidance: Guidance) -> list[Hit]:
    """The hits boosted by what they mention, then blended with the scores of their documents' entities."""
    if guided.mentions:
        by_type = guidance.boost_by_type
        factors = {chunk_id: _factor(counts, guided.named, by_type) for chunk_id, counts in guided.mentions.items()}
        totals = {chunk_id: sum(counts.values()) for chunk_id, counts in guided.mentions.items()}
        hits = blending.boosted(hits, totals, factors)
    return blending.blended(hits, guided.links, alpha=guidance.alpha) if guided.links else list(hits)


def _factor(
    counts: Mapping[UUID, int], named: Sequence[EntityMatch], by_type: Mapping[str, tuple[float, float]]
) -> float:
    """The largest boost that one of the entities gives a chunk."""
    of_type = {
        match.entity_id: by_type.get(match.type, (blending.LIFT_PER_MENTION, blending.MAX_LIFT)) for match in named
    }
    return max(
        blending.boost_factor(count, per_mention=of_type[entity_id][0], most=of_type[entity_id][1])
        for entity_id, count in counts.items()
    )


def annotated(answer: Answer, matches: EntityMatches, guided: GuidedResult) -> Answer:
    """The answer with the matched entities, and whether they guided it."""
    boosts = [hit.boost for hit in answer.hits if hit.boost]
    if boosts:
        moved = sum(abs(boost.moved) for boost in boosts)
        log.debug("entity boost", extra={"action": "entity_boost", "boosted": len(boosts), "moved": moved})
    explain = None if answer.explain is None else {**answer.explain, "entities": _explained(matches, guided)}
    is_entity_query = guided.links and guided.named and answer.query_type != "phrase"
    return replace(
        answer,
        search_mode="two_pass" if guided.links else "flat",
        fallback_reason=answer.fallback_reason or guided.fallback_reason,
        query_type="entity" if is_entity_query else answer.query_type,
        pass1_entities=matches.all,
        explain=explain,
    )


def _explained(matches: EntityMatches, guided: GuidedResult) -> dict[str, Any]:
    matched = [
        {"entity_id": str(m.entity_id), "name": m.name, "type": m.type, "score": m.score, "matched_by": m.matched_by}
        for m in matches.all
    ]
    return {"pass1": matched, "fallback_reason": guided.fallback_reason, "pass2": dict(guided.report)}
