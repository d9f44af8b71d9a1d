"""Completes an answer: the hits of a page with confidence, reasons and snippets, and what the answer says of itself."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from app.database.filter_types import Filters
from app.kinds import Json
from app.query import fused_scores as rrf
from app.query.context import SearchContext
from app.query.matches import EntityMatch
from app.query.search_request import SearchRequest
from app.query.types import Answer, Candidate, Hit, HybridResult
from app.relevance import confidence, relevance
from app.search.candidates import Candidates, Page, Ranked, Recalled
from app.search.ranking.fusion_plan import FusionPlan
from app.search.steps.guidance.guidance import MIN_ABOUTNESS, AppliedGuidance
from app.search.steps.guidance.matching import EntityMatches
from app.search.steps.recency import dating
from app.search.steps.snippets import snippets
from app.search.steps.synonyms import synonyms
from app.text.queries import grammar, literal_matches

log = logging.getLogger(__name__)


async def run(ranking: Ranked, page: Page, context: SearchContext) -> Answer:
    """The answer to a query with the hits of a page. Raises DatabaseUnavailable."""
    found = ranking.candidates
    completion = Completion.of(found)
    shown = [completion.complete(hit) for hit in page.hits]
    if found.query.detail == "compact":
        shown = await snippets.added(shown, texts_of(page.hits), found.recalled, context)
    answer = answer_of(found.query, found.recalled, context, replace(page, hits=tuple(shown)))
    return with_entities(answer, found.matches, found.guidance, is_forced=found.query.is_guided)


def texts_of(hits: Sequence[Hit]) -> dict[UUID, str]:
    """The whole text of each hit, and of those in its `more`, by chunk id."""
    every = (one for hit in hits for one in (hit, *hit.more))
    return {one.candidate.chunk_id: one.candidate.content for one in every}


def answer_of(query: SearchRequest, recalled: Recalled, context: SearchContext, page: Page) -> Answer:
    """The answer to a query with the completed hits of a page."""
    parsed, plan, result, shown = recalled.parsed, recalled.plan, recalled.result, page.hits
    scale = recalled.scale
    return Answer(
        hits=shown,
        confidence=shown[0].confidence if shown else None,
        confidence_by="legs" if scale is None else "relevance",
        answerable=None if scale is None else scale.answerable if shown else 0.0,
        strategies_matched=tuple(dict.fromkeys(name for hit in shown for name in hit.strategies)),
        query_type=parsed.query_type if parsed.text else None,
        mode=query.mode,
        fusion=plan.fusion,
        search_mode="flat",
        fallback_reason=None if shown or page.offset else why_empty(query.filters, query.exclude_chunk_ids, result),
        approximate=result.approximate and len(shown) < query.limit,
        degraded=tuple(context.degraded),
        relaxed=tuple(context.relaxed),
        timings=context.timings,
        detail=query.detail,
        next_cursor=page.next_cursor,
        explain=_query_explained(query, recalled, context) if query.explain else None,
        excluded=parsed.excluded,
    )


def with_entities(answer: Answer, matches: EntityMatches, applied: AppliedGuidance, *, is_forced: bool) -> Answer:
    """The answer with the entities that the query refers to, and whether they guided it, if that was forced."""
    boosts = [hit.boost for hit in answer.hits if hit.boost]
    if boosts:
        moved = sum(abs(boost.moved) for boost in boosts)
        extra = {"action": "entity_boost", "boosted": len(boosts), "moved": moved}
        found = {"entities": [match.name for match in matches.all], "factors": [round(one.factor, 3) for one in boosts]}
        log.debug("entity boost", extra=extra | found)
    if applied.fallback_reason and matches.all:
        extra = {"action": "two_pass_fallback", "reason": applied.fallback_reason}
        log.debug("entities not used: %s", applied.fallback_reason, extra=extra)
    weighed = {match.entity_id: match for match in applied.matches}
    referred = [weighed.get(match.entity_id, match) for match in matches.all]
    referred = [match for match in referred if match.aboutness is None or match.aboutness >= MIN_ABOUTNESS]
    if not any(match.key for match in referred):
        referred = [match for match in referred if match.matched_by != "team"]
    explain = None if answer.explain is None else {**answer.explain, "entities": _entities_explained(referred, applied)}
    is_entity_query = applied.links and any(match.key for match in applied.effective) and answer.query_type != "phrase"
    return replace(
        answer,
        search_mode="two_pass" if applied.links else "flat",
        guided=bool(applied.links) if is_forced else None,
        fallback_reason=answer.fallback_reason or applied.fallback_reason,
        query_type="entity" if is_entity_query else answer.query_type,
        entities=tuple(referred),
        explain=explain,
    )


def _entities_explained(matches: Iterable[EntityMatch], applied: AppliedGuidance) -> dict[str, Any]:
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
    return {"pass1": matched, "fallback_reason": applied.fallback_reason, "pass2": dict(applied.report)}


def unranked(result: HybridResult) -> list[Hit]:
    """The candidates as hits in the order of the statement, before confidence and reasons are known."""
    return [Hit(candidate, "low", ()) for candidate in result.candidates]


@dataclass(frozen=True, slots=True)
class Completion:
    """Completes the ranked hits of a query.

    `surely_linked` are the documents of an entity that the query is almost certainly about. `relaxed`: a looser request
    than the query's has found the hits.
    """

    query: SearchRequest
    recalled: Recalled
    surely_linked: frozenset[UUID]
    relaxed: bool

    @classmethod
    def of(cls, found: Candidates) -> Completion:
        """The completion of the hits of a search."""
        return cls(found.query, found.recalled, found.guidance.surely_linked, found.relaxed)

    def complete(self, ranked: Hit) -> Hit:
        """The hit, and those in its `more`, with confidence, strategies and explanation."""
        candidate = ranked.candidate
        is_linked = candidate.document_id in self.surely_linked
        hit = hit_of(ranked, self.query, self.recalled, relaxed=self.relaxed, is_linked=is_linked)
        if not (hit.explain or ranked.guidance or ranked.boost or ranked.more or ranked.duplicates):
            return hit
        explain = {**hit.explain, **(ranked.explain or {}), **capped(candidate.score)} if hit.explain else None
        more = tuple(self.complete(other) for other in ranked.more)
        return replace(
            hit,
            guidance=ranked.guidance,
            boost=ranked.boost,
            explain=explain,
            more=more,
            duplicates=ranked.duplicates,
        )

    def is_wanted(self, ranked: Hit) -> bool:
        """Whether the hit has at least the minimum confidence and relevance of the query."""
        level, least = self.query.ranking.min_confidence, self.query.ranking.min_relevance
        hit = self.complete(ranked)
        is_relevant = least is None or (hit.relevance is not None and hit.relevance >= least)
        return is_relevant and (level is None or confidence.at_least(hit.confidence, level))


def hit_of(ranked: Hit, query: SearchRequest, recalled: Recalled, *, relaxed: bool, is_linked: bool) -> Hit:
    """A ranked hit with its confidence and the strategies that found it.

    `is_linked`: to an entity that the query is almost certainly about. Its score is capped to 0 to 1: it may be outside
    while hits are ordered.
    """
    candidate, parsed = ranked.candidate, recalled.parsed
    content = "\n".join((*candidate.heading_path, candidate.content))
    reasons = literal_matches.reasons(parsed, title=candidate.title, content=content)
    relevant = None
    if recalled.scale is not None:
        relevant = recalled.scale.of(ranked.score_before_reranking)
        level = relevance.confidence(relevant)
    else:
        exact = bool(reasons)
        level = confidence.of(candidate, query_type=parsed.query_type, exact=exact, relaxed=relaxed, entity=is_linked)
    legs = [name for name, rank in (("vector", candidate.vector_rank), ("text", candidate.text_rank)) if rank]
    legs += ["entity"] if is_linked else []
    explain = _hit_explained(candidate, recalled.plan, query.ranking.k) if query.explain else None
    score = _shown(candidate.score)
    shown = candidate if score == candidate.score else candidate.with_score(score)
    source = recalled.source_names.get(candidate.source_id) if candidate.source_id else None
    return Hit(shown, level, (*legs, *reasons), relevant, explain, source=source)


def why_empty(filters: Filters, excluded: Sequence[object], result: HybridResult) -> str:
    """The `fallback_reason` of an answer without hits."""
    if not result.corpus_chunks:
        return "no_documents"
    found = result.vector_found or result.text_found
    if not result.scope_chunks or (not found and (filters or excluded)):
        return "filters_exclude_all"
    return "below_thresholds" if found else "nothing_found"


def of_later_hop(explain: Json, hop: int | None) -> Json:
    """The explanation of a hit without what only hop 1 has: the shares of the legs in the fusion of the question."""
    if hop in (None, 1):
        return explain
    legs = {leg: {"rank": values["rank"], "score": values["score"]} for leg, values in explain["legs"].items()}
    return {"fusion": explain["fusion"], "legs": legs}


def _hit_explained(candidate: Candidate, plan: FusionPlan, k: int) -> dict[str, Any]:
    """Each leg's rank, score and share of the fused score, which the shares add up to."""
    found = candidate
    weights, total = plan.weights, (plan.weights.vector + plan.weights.text) or 1.0
    legs: dict[str, dict[str, Any]] = {
        "vector": {"rank": found.vector_rank, "score": found.vector_score, "scaled": found.vector_scaled},
        "text": {"rank": found.text_rank, "score": found.text_score, "scaled": found.text_scaled},
    }
    fused = 0.0
    for leg, weight in (("vector", weights.vector), ("text", weights.text)):
        rrf_share = rrf.TOTAL_WEIGHT * weight / total / (k + legs[leg]["rank"]) if legs[leg]["rank"] else 0.0
        convex_share = weight * legs[leg]["scaled"] / total
        share = convex_share if plan.fusion == "convex" else rrf_share * (k + 1) / rrf.TOTAL_WEIGHT
        legs[leg] |= {"weight": weight, "rrf_share": rrf_share, "share": share}
        fused += share
    return {"fusion": plan.fusion, "k": k, "legs": legs, "fused": fused}


def _shown(score: float) -> float:
    return min(1.0, max(0.0, score))


def capped(score: float) -> dict[str, Any]:
    """The shown score, 0 to 1, and the step to it where it differs."""
    shown = _shown(score)
    step = {} if shown == score else {"cap": {"score_before": score, "score": shown}}
    return {**step, "score": shown}


def _query_explained(query: SearchRequest, recalled: Recalled, context: SearchContext) -> dict[str, Any]:
    """The query's terms, weights and operators, the plan of the vector leg, and the size of the corpus.

    Frequencies are those among all documents, so that a caller who does not see all does not get them.
    """
    parsed, plan, result, lexical = recalled.parsed, recalled.plan, recalled.result, recalled.request.lexical
    is_restricted = context.services.db.audience is not None
    terms: list[dict[str, Any]] = [
        {"lexeme": term.lexeme, "times": term.times}
        if is_restricted
        else {"lexeme": term.lexeme, "df": term.df, "idf": term.idf, "times": term.times}
        for term in result.terms
    ]
    return {
        "weights": {"vector": plan.weights.vector, "text": plan.weights.text},
        "terms": terms,
        "corrections": {one.word: list(one.lexemes) for one in lexical.corrections} if lexical else {},
        "synonyms": synonyms.explained(lexical.synonyms) if lexical else {},
        "required": list(parsed.required),
        "phrases": list(parsed.phrases),
        "excluded": list(parsed.excluded),
        "groups": list(map(grammar.written, parsed.groups)),
        "expression_error": parsed.expression_error,
        "condition_plan": result.condition_plan,
        "vector_plan": result.vector_plan,
        "vector_candidates": result.vector_found,
        "text_candidates": result.text_found,
        **({} if is_restricted else {"chunks": result.corpus_chunks}),
        "chunks_in_scope": result.scope_chunks,
        "rerank": query.ranking.rerank,
        "mmr": query.ranking.mmr,
        "recency": None if (recency := dating.applied(query)) is None else recency.model_dump(),
        "relevance": _relevance_explained(recalled),
    }


def _relevance_explained(recalled: Recalled) -> dict[str, Any] | None:
    """What the relevance of a hit follows from besides its score, with the user's calibration if there is one."""
    scale = recalled.scale
    if scale is None:
        return None
    is_default = scale.calibration is relevance.UNCALIBRATED
    return {
        "best_cosine": scale.search.cosine,
        "best_coverage": scale.search.coverage,
        "entities": asdict(scale.search.entities),
        "calibration": None if is_default else asdict(scale.calibration),
    }
