"""Runs the unguided search, adds documents linked to the query's entities and blends both into one order.

The hybrid statement runs everywhere. If the query is about an entity, the documents that are linked to it and were not
found are added with score 0, and all hits are ordered together by the blend of their scores and their parents' scores
and by what they mention. The aboutness of the entities is the weight of both, so a query that merely contains a name
keeps the unguided order.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from app.pipelines.guidance import entity_evidence, entity_links
from app.pipelines.guidance.entity_links import EntityLinks
from app.pipelines.guidance.entity_match import EntityMatches
from app.pipelines.running.entity_cache import EntityCache
from app.pipelines.search.understanding import Understanding
from app.ranking import blending
from app.ranking.blending import Lift
from app.shapes import (
    Answer,
    Candidate,
    EntityMatch,
    Guidance,
    Hit,
    HybridRequest,
    HybridResult,
    Link,
    ParsedQuery,
    Query,
)
from app.store.connection.transactions import SearchTransaction
from app.store.documents import chunks
from app.store.search import recall
from app.text.queries import literal_matches

log = logging.getLogger(__name__)

CANDIDATES_PER_HIT = 4
MIN_CANDIDATES, MAX_CANDIDATES = 50, 200
"""Candidates that are boosted and blended: four times the limit, within these bounds."""
MIN_ABOUTNESS = 0.1
"""Aboutness from which an entity has an effect."""
SURE_ABOUTNESS = 0.8
"""Aboutness from which a name in full may displace the best unguided hits, and linked hits gain confidence."""
PROTECTED = 3
"""Best unguided hits that stay among the first ten, unless the query is about an entity that it names in full."""
LITERAL_WITHIN = 10
"""Rank of the unguided search within which a literal phrase or identifier leaves the order as it is."""


@dataclass(frozen=True, slots=True)
class GuidedResult:
    """What was retrieved, and how entities are applied.

    `fusion` is that of the scores. `matches` have an aboutness. `links` are the parents of chunks (none if the search
    is not guided, because of `fallback_reason`), `weight` is that of the parent scores, `mentions` how often each chunk
    mentions each entity, and `protected` are chunks that stay among the first ten.
    """

    result: HybridResult
    fallback_reason: str | None = None
    fusion: Literal["rrf", "convex"] = "convex"
    matches: Sequence[EntityMatch] = ()
    links: Mapping[UUID, Link] = field(default_factory=dict)
    weight: float = 0.0
    mentions: Mapping[UUID, Mapping[UUID, int]] = field(default_factory=dict)
    protected: frozenset[UUID] = frozenset()
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def effective(self) -> list[EntityMatch]:
        """The entities of which the aboutness is large enough to have an effect."""
        return [match for match in self.matches if (match.aboutness or 0.0) >= MIN_ABOUTNESS]

    @property
    def aboutness(self) -> float:
        """The largest aboutness of the entities that have an effect."""
        return max((match.aboutness or 0.0 for match in self.effective), default=0.0)

    @property
    def linked_documents(self) -> set[UUID]:
        """The documents of the result that are linked to an entity that the query is almost certainly about."""
        sure = {match.entity_id for match in self.matches if (match.aboutness or 0.0) >= SURE_ABOUTNESS}
        return {link.document_id for link in self.links.values() if link.entity_id in sure}


async def run(
    db: SearchTransaction, query: Query, understood: Understanding, matches: EntityMatches, *, cache: EntityCache
) -> GuidedResult:
    """Retrieve, and weigh the entities that may guide or boost by the evidence that the query is about them."""
    guidance, request = query.guidance, understood.request
    guiding = matches.guiding(guidance.threshold) if matches.fallback_reason is None else []
    named = matches.named if guidance.boost else []
    applied = list({match.entity_id: match for match in (*guiding, *named)}.values())
    if not applied:
        return GuidedResult(await recall.hybrid(db, request), matches.fallback_reason)
    wide = replace(request, limit=max(request.limit, _candidates_wanted(query.limit)), with_content=True)
    result = await recall.hybrid(db, wide)
    if guidance.hierarchy != "force" and _has_literal_match(result, understood.parsed):
        return GuidedResult(result, matches.fallback_reason or "literal_match")
    links = await entity_links.of_candidates(db, wide, applied, result, cache=cache)
    exponent = blending.EXPONENTS[request.fusion]
    weighed = entity_evidence.weighed(applied, result, links, exponent=exponent, forced=guidance.hierarchy == "force")
    guided = GuidedResult(result, matches.fallback_reason, request.fusion, weighed)
    if guiding:
        guided = await _guided(db, query, request, guided, _Guides(guiding, links))
    return _with_mentions(guided, query, links)


def _candidates_wanted(limit: int) -> int:
    return min(MAX_CANDIDATES, max(MIN_CANDIDATES, CANDIDATES_PER_HIT * limit))


def _has_literal_match(result: HybridResult, parsed: ParsedQuery) -> bool:
    """Whether one of the best hits contains the phrases or an identifier of the query literally."""
    return bool(parsed.phrases or parsed.query_type == "technical") and any(
        {"phrase", "identifier"} & set(literal_matches.reasons(parsed, title=one.title, content=one.content))
        for one in result.candidates[:LITERAL_WITHIN]
    )


async def _guided(
    db: SearchTransaction, query: Query, request: HybridRequest, guided: GuidedResult, guides: _Guides
) -> GuidedResult:
    """The result with the parents of its candidates, and with linked documents that it does not contain."""
    chosen = [match for match in guided.effective if match.entity_id in guides.ids]
    if not guides.have_documents:
        return replace(guided, fallback_reason="no_linked_documents")
    if not chosen:
        return replace(guided, fallback_reason="not_entity_centric")
    weight = blending.weight(chosen, alpha=query.guidance.alpha) * entity_evidence.agreement(guided.matches)
    strict = request.lexical is not None and bool(request.lexical.strict or request.lexical.excluded)
    candidates = guided.result.candidates
    linkable = [one for one in candidates if one.text_rank is not None or not strict]
    parents = blending.parents(chosen, guides.strengths, {one.document_id for one in linkable})
    links = {one.chunk_id: parents[one.document_id] for one in linkable if one.document_id in parents}
    missing = {} if strict else _missing(chosen, guides.strengths, guided.result, request)
    added: list[Candidate] = []
    if missing and _could_enter(missing, links, replace(guided, weight=weight), needed=request.limit):
        added = _passing(await chunks.best_of_documents(db, request, list(missing), limit=request.limit), request)
    links |= {one.chunk_id: missing[one.document_id] for one in added}
    report = {"linked_documents": guides.links.documents(guides.ids), "added": len(added), "weight": round(weight, 6)}
    if not links:
        return replace(guided, fallback_reason="nothing_in_linked_documents", report=report)
    full = any(match.matched_by == "name" and (match.aboutness or 0.0) >= SURE_ABOUTNESS for match in chosen)
    best = () if full else candidates[:PROTECTED]
    return replace(
        guided,
        result=replace(guided.result, candidates=(*candidates, *added)),
        links=links,
        weight=weight,
        protected=frozenset(one.chunk_id for one in best),
        report=report,
    )


@dataclass(frozen=True, slots=True)
class _Guides:
    """The entities that may guide the search, and the links of all entities."""

    matches: Sequence[EntityMatch]
    links: EntityLinks

    @property
    def ids(self) -> set[UUID]:
        return {match.entity_id for match in self.matches}

    @property
    def have_documents(self) -> bool:
        return any(self.links.counts[match.entity_id] for match in self.matches)

    @property
    def strengths(self) -> Mapping[UUID, Mapping[UUID, float]]:
        """The link strengths by entity and document."""
        return self.links.strengths


def _missing(
    chosen: Sequence[EntityMatch],
    strengths: Mapping[UUID, Mapping[UUID, float]],
    result: HybridResult,
    request: HybridRequest,
) -> dict[UUID, Link]:
    """The linked documents without a candidate that have the best parents, best first."""
    if request.min_rrf_score is not None:
        return {}
    found = {candidate.document_id for candidate in result.candidates}
    wanted = MAX_CANDIDATES if request.filters or request.exclude_chunk_ids else request.limit
    documents: set[UUID] = set()
    for match in chosen:
        documents.update(itertools.islice((d for d in strengths[match.entity_id] if d not in found), wanted))
    parents = blending.parents(chosen, strengths, documents)
    ordered = sorted(parents.values(), key=lambda link: (-link.score, -link.strength, link.document_id))
    return {link.document_id: link for link in ordered[:wanted]}


def _could_enter(
    missing: Mapping[UUID, Link], links: Mapping[UUID, Link], guided: GuidedResult, *, needed: int
) -> bool:
    """Whether a document with score 0 and the best of these parents would be among the best `needed` hits."""

    def final(score: float, link: Link | None) -> float:
        parent = link.score if link else 0.0
        return blending.final_score(score, parent, weight=guided.weight, fusion=guided.fusion)

    finals = sorted((final(one.score, links.get(one.chunk_id)) for one in guided.result.candidates), reverse=True)
    best = final(0.0, next(iter(missing.values())))
    return len(finals) < needed or finals[needed - 1] < best


def _passing(added: Iterable[Candidate], request: HybridRequest) -> list[Candidate]:
    least = request.min_vector_score
    return [one for one in added if least is None or (one.vector_score is not None and one.vector_score >= least)]


def _with_mentions(guided: GuidedResult, query: Query, links: EntityLinks) -> GuidedResult:
    """The result with the mentions by which the entities that the query names boost its candidates."""
    named = {match.entity_id for match in guided.effective if match.key} if query.guidance.boost else set()
    mentions = {
        chunk_id: counts
        for chunk_id, every in links.mentions.items()
        if (counts := {entity_id: count for entity_id, count in every.items() if entity_id in named})
    }
    by_id = {match.entity_id: match for match in guided.effective}
    return replace(guided, mentions={chunk_id: _once(counts, by_id) for chunk_id, counts in mentions.items()})


def _once(counts: Mapping[UUID, int], matches: Mapping[UUID, EntityMatch]) -> Mapping[UUID, int]:
    """The mentions of entities in a chunk; of namesakes, whom one name means, those of the best one."""
    if len(counts) == 1:
        return counts
    best: dict[tuple[str, str | None], UUID] = {}
    for entity_id in counts:
        match = matches[entity_id]
        other = best.setdefault((match.type, match.key), entity_id)
        if (match.fit, counts[entity_id]) > (matches[other].fit, counts[other]):
            best[match.type, match.key] = entity_id
    return {entity_id: counts[entity_id] for entity_id in best.values()}


def ordered(hits: Sequence[Hit], guided: GuidedResult, guidance: Guidance) -> list[Hit]:
    """The hits boosted by what they mention, then blended with the scores of their parents."""
    if guided.mentions:
        factors = _boost_factors(guided, guidance)
        totals = {chunk_id: sum(counts.values()) for chunk_id, counts in guided.mentions.items()}
        hits = blending.boosted(hits, totals, factors)
    if not guided.links:
        return list(hits)
    return blending.kept(
        blending.blended(hits, guided.links, weight=guided.weight, fusion=guided.fusion), guided.protected
    )


def _boost_factors(guided: GuidedResult, guidance: Guidance) -> dict[UUID, float]:
    """The factor of each chunk's score, computed once for equal mentions."""
    effective = guided.effective
    by_counts: dict[tuple[tuple[UUID, int], ...], float] = {}
    found: dict[UUID, float] = {}
    for chunk_id, counts in guided.mentions.items():
        key = tuple(counts.items())
        if key not in by_counts:
            by_counts[key] = blending.boost_factor(_lifts(counts, effective, guidance), guided.fusion)
        found[chunk_id] = by_counts[key]
    return found


def _lifts(counts: Mapping[UUID, int], matches: Iterable[EntityMatch], guidance: Guidance) -> list[Lift]:
    """How much each entity that a chunk mentions lifts it."""
    usual = (blending.LIFT_PER_MENTION, blending.MAX_LIFT)
    return [
        Lift(
            (match.aboutness or 0.0) * match.fit * counts[match.entity_id],
            *guidance.boost_by_type.get(match.type, usual),
        )
        for match in matches
        if match.entity_id in counts
    ]


def annotated(answer: Answer, matches: EntityMatches, guided: GuidedResult) -> Answer:
    """The answer with the entities that the query refers to, and whether they guided it."""
    boosts = [hit.boost for hit in answer.hits if hit.boost]
    if boosts:
        moved = sum(abs(boost.moved) for boost in boosts)
        log.debug("entity boost", extra={"action": "entity_boost", "boosted": len(boosts), "moved": moved})
    if guided.fallback_reason and matches.all:
        extra = {"action": "two_pass_fallback", "reason": guided.fallback_reason}
        log.debug("entities not used: %s", guided.fallback_reason, extra=extra)
    weighed = {match.entity_id: match for match in guided.matches}
    referred = [weighed.get(match.entity_id, match) for match in matches.all]
    referred = [match for match in referred if match.aboutness is None or match.aboutness >= MIN_ABOUTNESS]
    if not any(match.key for match in referred):
        referred = [match for match in referred if match.matched_by != "team"]
    explain = None if answer.explain is None else {**answer.explain, "entities": _explained(referred, guided)}
    is_entity_query = guided.links and any(match.key for match in guided.effective) and answer.query_type != "phrase"
    return replace(
        answer,
        search_mode="two_pass" if guided.links else "flat",
        fallback_reason=answer.fallback_reason or guided.fallback_reason,
        query_type="entity" if is_entity_query else answer.query_type,
        pass1_entities=tuple(referred),
        explain=explain,
    )


def _explained(matches: Iterable[EntityMatch], guided: GuidedResult) -> dict[str, Any]:
    matched = [
        {
            "entity_id": str(match.entity_id),
            "name": match.name,
            "type": match.type,
            "score": match.score,
            "matched_by": match.matched_by,
            **({} if match.fit == 1 else {"fit": round(match.fit, 6)}),
            "aboutness": None if match.aboutness is None else round(match.aboutness, 6),
        }
        for match in matches
    ]
    return {"pass1": matched, "fallback_reason": guided.fallback_reason, "pass2": dict(guided.report)}
