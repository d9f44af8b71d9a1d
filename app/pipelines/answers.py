"""Builds hits and the answer from what a search retrieved, with confidence, reasons and `explain`."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Any

from app.pipelines.context import SearchContext
from app.pipelines.retrieval import Retrieval
from app.ranking import confidence
from app.ranking.fusion_plan import FusionPlan
from app.shapes import Answer, Candidate, Filters, Hit, HybridResult, Query
from app.text import literal_matches

PREVIEW_CHARACTERS = 240


def build(
    query: Query,
    retrieved: Retrieval,
    context: SearchContext,
    *,
    hits: Iterable[Hit] | None = None,
    linked_documents: Container[object] = (),
) -> Answer:
    """The answer to a query; `hits` are in their final order, by default the order of retrieval.

    `linked_documents` are the ids of documents linked to an entity of the query.
    """
    parsed, plan, result = retrieved.parsed, retrieved.plan, retrieved.result
    ordered = unranked(retrieved) if hits is None else hits
    confident = _confident(ordered, query, retrieved, linked_documents, relaxed=bool(context.relaxed))
    shown = tuple(itertools.islice(confident, query.limit))
    return Answer(
        hits=shown,
        confidence=shown[0].confidence if shown else None,
        strategies_matched=tuple(dict.fromkeys(name for hit in shown for name in hit.strategies)),
        query_type=parsed.query_type,
        mode=query.mode,
        fusion=plan.fusion,
        search_mode="flat",
        fallback_reason=None if shown else why_empty(query.filters, query.exclude_chunk_ids, result),
        approximate=result.approximate and len(shown) < query.limit,
        degraded=tuple(context.degraded),
        relaxed=tuple(context.relaxed),
        timings=context.timings,
        explain=_query_explained(query, retrieved) if query.explain else None,
    )


def unranked(retrieved: Retrieval) -> list[Hit]:
    """The candidates as hits in the order of retrieval, before confidence and reasons are known."""
    return [Hit(candidate, "low", ()) for candidate in retrieved.result.candidates]


def _confident(
    ordered: Iterable[Hit], query: Query, retrieved: Retrieval, linked: Container[object], *, relaxed: bool
) -> Iterator[Hit]:
    """The hits of at least `query.min_confidence`; confidence is computed only as hits are consumed."""
    for ranked in ordered:
        is_linked = ranked.candidate.document_id in linked
        hit = hit_of(ranked.candidate, query, retrieved, relaxed=relaxed, entity=is_linked)
        if not query.min_confidence or confidence.at_least(hit.confidence, query.min_confidence):
            explain = {**hit.explain, **(ranked.explain or {})} if hit.explain else None
            yield replace(hit, parent=ranked.parent, boost=ranked.boost, explain=explain)


def hit_of(candidate: Candidate, query: Query, retrieved: Retrieval, *, relaxed: bool, entity: bool = False) -> Hit:
    """A candidate with its confidence, the strategies that found it, and as much text as `query.detail` asks for."""
    parsed = retrieved.parsed
    reasons = literal_matches.reasons(parsed, title=candidate.title, content=candidate.content)
    level = confidence.of(candidate, query_type=parsed.query_type, exact=bool(reasons), relaxed=relaxed, entity=entity)
    legs = [name for name, rank in (("vector", candidate.vector_rank), ("text", candidate.text_rank)) if rank]
    legs += ["entity"] if entity else []
    explain = _hit_explained(candidate, retrieved.plan, query.k) if query.explain else None
    return Hit(_with_detail(candidate, query), level, (*legs, *reasons), explain)


def _with_detail(candidate: Candidate, query: Query) -> Candidate:
    if query.detail == "full":
        return candidate
    return replace(candidate, content="" if query.detail == "ids" else candidate.content[:PREVIEW_CHARACTERS])


def why_empty(filters: Filters, excluded: tuple[object, ...], result: HybridResult) -> str:
    """The `fallback_reason` of an answer without hits."""
    if not result.corpus_chunks:
        return "no_documents"
    found = result.vector_found or result.text_found
    if not result.scope_chunks or (not found and (filters or excluded)):
        return "filters_exclude_all"
    return "below_thresholds" if found else "nothing_found"


def _hit_explained(candidate: Candidate, plan: FusionPlan, k: int) -> dict[str, Any]:
    """Each leg's rank, score and share of a hit's score."""
    legs = (
        ("vector", candidate.vector_rank, candidate.vector_score, plan.weights.vector),
        ("text", candidate.text_rank, candidate.text_score, plan.weights.text),
    )
    shares = {
        leg: {"rank": rank, "score": score, "weight": weight, "rrf_share": weight / (k + rank) if rank else 0.0}
        for leg, rank, score, weight in legs
    }
    return {"fusion": plan.fusion, "legs": shares, "score": candidate.score}


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
