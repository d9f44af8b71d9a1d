"""Builds hits and the answer from what a search retrieved, with confidence, reasons and `explain`."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from app.pipelines.running.context import SearchContext
from app.pipelines.search.pages import Page
from app.pipelines.search.retrieval import Retrieval
from app.ranking import confidence, relevance
from app.ranking.fusion_plan import FusionPlan
from app.shapes import Answer, Candidate, Detail, Filters, Hit, HybridResult, Json, Query
from app.text.queries import literal_matches

PREVIEW_CHARACTERS = 240


def build(query: Query, retrieved: Retrieval, context: SearchContext, page: Page) -> Answer:
    """The answer to a query with the completed hits of a page."""
    parsed, plan, result, shown = retrieved.parsed, retrieved.plan, retrieved.result, page.hits
    known = [hit.relevance for hit in shown if hit.relevance is not None]
    return Answer(
        hits=shown,
        confidence=shown[0].confidence if shown else None,
        confidence_by="legs" if retrieved.scale is None else "relevance",
        answerable=relevance.answerable(known) if retrieved.scale else None,
        strategies_matched=tuple(dict.fromkeys(name for hit in shown for name in hit.strategies)),
        query_type=parsed.query_type,
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
        explain=_query_explained(query, retrieved) if query.explain else None,
    )


def unranked(retrieved: Retrieval) -> list[Hit]:
    """The candidates as hits in the order of retrieval, before confidence and reasons are known."""
    return [Hit(candidate, "low", ()) for candidate in retrieved.result.candidates]


@dataclass(frozen=True, slots=True)
class Completion:
    """Completes the ranked hits of a query.

    `linked_documents` are those linked to an entity that the query is almost certainly about, `aboutness` is the
    largest of the query's entities.
    """

    query: Query
    retrieved: Retrieval
    linked_documents: Container[object]
    aboutness: float
    relaxed: bool

    def completed(self, ranked: Hit) -> Hit:
        """The hit, and those in its `more`, with confidence, strategies, explanation and the text of `query.detail`."""
        candidate = ranked.candidate
        is_linked = candidate.document_id in self.linked_documents
        linked = HitLink(is_linked, self.aboutness * (ranked.parent.score if ranked.parent else 0.0))
        hit = hit_of(candidate, self.query, self.retrieved, relaxed=self.relaxed, linked=linked)
        explain = {**hit.explain, **(ranked.explain or {}), **capped(candidate.score)} if hit.explain else None
        more = tuple(self.completed(other) for other in ranked.more)
        return replace(hit, parent=ranked.parent, boost=ranked.boost, explain=explain, more=more)

    def is_wanted(self, ranked: Hit) -> bool:
        """Whether the hit has at least `query.min_confidence` and `query.min_relevance`."""
        level, least = self.query.min_confidence, self.query.min_relevance
        hit = self.completed(ranked)
        is_relevant = least is None or (hit.relevance is not None and hit.relevance >= least)
        return is_relevant and (level is None or confidence.at_least(hit.confidence, level))


@dataclass(frozen=True, slots=True)
class HitLink:
    """How a hit is linked to entities of the query.

    `is_sure`: to one that the query is almost certainly about. `weight` (0 to 1): its parent score times the aboutness.
    """

    is_sure: bool = False
    weight: float = 0.0


def hit_of(
    candidate: Candidate, query: Query, retrieved: Retrieval, *, relaxed: bool, linked: HitLink | None = None
) -> Hit:
    """A candidate with its confidence, the strategies that found it, and as much text as `query.detail` asks for.

    Its score is capped to 0 to 1: it may be outside while hits are ordered.
    """
    linked = linked or HitLink()
    parsed = retrieved.parsed
    content = "\n".join((*candidate.heading_path, candidate.content))
    reasons = literal_matches.reasons(parsed, title=candidate.title, content=content)
    relevant = None
    if retrieved.scale is not None:
        relevant = retrieved.scale.of(
            candidate, literal=bool({"phrase", "identifier"} & set(reasons)), linked=linked.weight
        )
        level = relevance.confidence(relevant)
    else:
        exact = bool(reasons)
        level = confidence.of(
            candidate, query_type=parsed.query_type, exact=exact, relaxed=relaxed, entity=linked.is_sure
        )
    legs = [name for name, rank in (("vector", candidate.vector_rank), ("text", candidate.text_rank)) if rank]
    legs += ["entity"] if linked.is_sure else []
    explain = _hit_explained(candidate, retrieved.plan, query.k) if query.explain else None
    shown = replace(with_detail(candidate, query.detail), score=capped(candidate.score)["score"])
    return Hit(shown, level, (*legs, *reasons), relevant, explain)


def with_detail(candidate: Candidate, detail: Detail) -> Candidate:
    """The candidate with as much of its text as `detail` includes."""
    if detail in ("full", "compact"):
        return candidate
    return replace(candidate, content="" if detail == "ids" else candidate.content[:PREVIEW_CHARACTERS])


def why_empty(filters: Filters, excluded: tuple[object, ...], result: HybridResult) -> str:
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
        rrf_share = weight / (k + legs[leg]["rank"]) if legs[leg]["rank"] else 0.0
        share = (weight * legs[leg]["scaled"] if plan.fusion == "convex" else rrf_share * (k + 1)) / total
        legs[leg] |= {"weight": weight, "rrf_share": rrf_share, "share": share}
        fused += share
    return {"fusion": plan.fusion, "k": k, "legs": legs, "fused": fused}


def capped(score: float) -> dict[str, Any]:
    """The shown score, 0 to 1, and the step to it where it differs."""
    shown = min(1.0, max(0.0, score))
    step = {} if shown == score else {"cap": {"score_before": score, "score": shown}}
    return {**step, "score": shown}


def _query_explained(query: Query, retrieved: Retrieval) -> dict[str, Any]:
    """The query's terms, weights and operators, the plan of the vector leg, and the size of the corpus."""
    parsed, plan, result = retrieved.parsed, retrieved.plan, retrieved.result
    terms = [{"lexeme": term.lexeme, "df": term.df, "idf": term.idf, "times": term.times} for term in result.terms]
    return {
        "weights": {"vector": plan.weights.vector, "text": plan.weights.text},
        "terms": terms,
        "required": list(parsed.required),
        "phrases": list(parsed.phrases),
        "excluded": list(parsed.excluded),
        "vector_plan": result.vector_plan,
        "vector_candidates": result.vector_found,
        "text_candidates": result.text_found,
        "chunks": result.corpus_chunks,
        "chunks_in_scope": result.scope_chunks,
        "rerank": query.rerank,
        "mmr": query.mmr,
    }
