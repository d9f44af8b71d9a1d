"""Completes an answer: adds confidence, relevance and reasons to the hits of a page, and describes the whole answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from app.enums import Confidence, Json
from app.query import scoring_constants
from app.query.search_types import Answer, Candidate, Hit, HybridResult
from app.relevance import relevance
from app.search import state
from app.search.state import Page, SearchState
from app.text.queries import parsed_query, query_parsing


def answer_of(search: SearchState, page: Page, hits: tuple[Hit, ...]) -> Answer:
    """The answer of one search with the completed hits of a page."""
    query, parsed, result = search.query, search.parsed, search.result
    context, assessed = search.context, search.assessment
    known = [hit.relevance for hit in hits if hit.relevance is not None]
    return Answer(
        hits=hits,
        confidence=hits[0].confidence if hits else None,
        answerable=None if assessed is None else assessed.answerable(known),
        strategies_matched=tuple(dict.fromkeys(name for hit in hits for name in hit.strategies)),
        query_type=parsed.query_type if parsed.text else None,
        mode=query.mode,
        fusion=search.request.fusion,
        search_mode="flat",
        fallback_reason=None if hits or page.offset else why_empty(query.exclude_chunk_ids, result),
        approximate=result.approximate and len(hits) < query.limit,
        degraded=tuple(context.degraded),
        relaxed=tuple(context.relaxed),
        timings=context.timings,
        detail=query.detail,
        next_cursor=page.next_cursor,
        explain=_query_explained(search) if query.explain else None,
        excluded=parsed.excluded,
        terms=result.terms,
        depth="fast",
        depth_reason="requested",
    )


def complete(hits: Iterable[Hit], search: SearchState) -> tuple[Hit, ...]:
    """Adds confidence, strategies and explanation to the hits and to the hits in their `more`."""
    ranked = list(hits)
    linked = [one.candidate.document_id in search.surely_linked for one in ranked]
    return tuple(map(partial(_complete, search), ranked, describe_hits(ranked, search, linked)))


def _complete(search: SearchState, ranked: Hit, hit: Hit) -> Hit:
    if hit.explain is None and not ranked.more:
        return hit
    explain = {**hit.explain, **(ranked.explain or {}), **cap(ranked.candidate.score)} if hit.explain else None
    return hit._replace(explain=explain, more=complete(ranked.more, search))


def is_wanted(ranked: Hit, search: SearchState) -> bool:
    """Whether the hit has at least the minimum confidence and relevance of the query."""
    level, least = search.query.ranking.min_confidence, search.query.ranking.min_relevance
    ((relevant, confidence),) = _judge([ranked], search)
    is_relevant = least is None or (relevant is not None and relevant >= least)
    return is_relevant and (level is None or relevance.is_at_least(confidence, level))


def describe_hits(ranked: Sequence[Hit], search: SearchState, linked: Iterable[bool]) -> list[Hit]:
    """Adds to ranked hits their confidence and the strategies that found them; leaves out their `more`.

    `linked` says which hits are linked to an entity that the query is almost certainly about. Scores are capped to the
    range 0 to 1, which they may leave while hits are ordered.
    """
    candidates = [one.candidate for one in ranked]
    passages = [(one.title, "\n".join((*one.heading_path, one.content))) for one in candidates]
    reasons = query_parsing.find_literal_matches(search.parsed, passages)
    return list(map(partial(_hit_of, search), ranked, _judge(ranked, search), linked, reasons))


def _hit_of(
    search: SearchState,
    ranked: Hit,
    judged: tuple[float | None, Confidence],
    is_linked: bool,
    reasons: tuple[str, ...],
) -> Hit:
    candidate, (relevant, confidence) = ranked.candidate, judged
    legs = [name for name, rank in (("vector", candidate.vector_rank), ("text", candidate.text_rank)) if rank]
    legs += ["entity"] if is_linked else []
    score = _show(candidate.score)
    return Hit(
        candidate if score == candidate.score else candidate.with_score(score),
        confidence,
        (*legs, *reasons),
        relevant,
        _hit_explained(candidate, search) if search.query.explain else None,
        guidance=ranked.guidance,
        boost=ranked.boost,
        duplicates=ranked.duplicates,
        source=search.context.source_names.get(candidate.source_id) if candidate.source_id else None,
    )


def _judge(ranked: Sequence[Hit], search: SearchState) -> Sequence[tuple[float | None, Confidence]]:
    """The relevance and the confidence of hits."""
    if search.assessment is None:
        return [(None, relevance.UNKNOWN)] * len(ranked)
    return search.assessment.judge([score_before_reranking(one) for one in ranked])


def score_before_reranking(hit: Hit) -> float:
    """The score of a hit before re-ranking and before the age of its document changed it."""
    steps = hit.explain or {}
    first = next((steps[name] for name in ("rerank", "recency") if name in steps), None)
    return hit.candidate.score if first is None else float(first["score_before"])


def why_empty(excluded: Sequence[object], result: HybridResult) -> str:
    """The `fallback_reason` of an answer without hits."""
    if not result.corpus_chunks:
        return "no_documents"
    found = result.vector_found or result.text_found
    if not result.scope_chunks or (not found and excluded):
        return "filters_exclude_all"
    return "below_thresholds" if found else "nothing_found"


def drop_first_hop_details(explain: Json, hop: int | None) -> Json:
    """Removes from the explanation of a hit what only hop 1 has: the shares of the legs in the question's fusion."""
    if hop in (None, 1):
        return explain
    legs = {leg: {"rank": values["rank"], "score": values["score"]} for leg, values in explain["legs"].items()}
    return {"fusion": explain["fusion"], "legs": legs}


def _hit_explained(candidate: Candidate, search: SearchState) -> dict[str, Any]:
    """The rank, score and share of each leg. The shares add up to the fused score."""
    found, fusion, k = candidate, search.request.fusion, search.query.ranking.k
    weights = search.result.weights
    total = (weights.vector + weights.text) or 1.0
    legs: dict[str, dict[str, Any]] = {
        "vector": {"rank": found.vector_rank, "score": found.vector_score, "scaled": found.vector_scaled},
        "text": {"rank": found.text_rank, "score": found.text_score, "scaled": found.text_scaled},
    }
    fused = 0.0
    for leg, weight in (("vector", weights.vector), ("text", weights.text)):
        rrf_share = (
            scoring_constants.TOTAL_WEIGHT * weight / total / (k + legs[leg]["rank"]) if legs[leg]["rank"] else 0.0
        )
        convex_share = weight * legs[leg]["scaled"] / total
        share = convex_share if fusion == "convex" else rrf_share * (k + 1) / scoring_constants.TOTAL_WEIGHT
        legs[leg] |= {"weight": weight, "rrf_share": rrf_share, "share": share}
        fused += share
    return {"fusion": fusion, "k": k, "legs": legs, "fused": fused}


def _show(score: float) -> float:
    return min(1.0, max(0.0, score))


def cap(score: float) -> dict[str, Any]:
    """The shown score, 0 to 1, and the step that caps the score if it differs."""
    shown = _show(score)
    step = {} if shown == score else {"cap": {"score_before": score, "score": shown}}
    return {**step, "score": shown}


def _query_explained(search: SearchState) -> dict[str, Any]:
    """The query as searched, its terms, weights and operators, the plan of the vector leg, and the steps.

    Frequencies are counted in all documents. A caller who does not see all of them gets no frequencies, and no terms
    that others have written.
    """
    parsed, weights, result = search.parsed, search.result.weights, search.result
    is_restricted = search.context.services.db.audience is not None
    added = search.request.lexical.added if search.request.lexical else ()
    hidden = {form for term in added if not term.is_shown for form in term.forms}
    terms: list[dict[str, Any]] = [
        {"lexeme": term.lexeme, "times": term.times}
        if is_restricted
        else {"lexeme": term.lexeme, "df": term.df, "idf": term.idf, "times": term.times}
        for term in result.terms
        if term.lexeme not in hidden
    ]
    explained = {
        "query": search.query.text,
        "weights": {"vector": weights.vector, "text": weights.text},
        "terms": terms,
        "required": list(parsed.required),
        "phrases": list(parsed.phrases),
        "excluded": list(parsed.excluded),
        "groups": list(map(parsed_query.write, parsed.groups)),
        "expression_error": parsed.expression_error,
        "condition_plan": result.condition_plan,
        "vector_plan": result.vector_plan,
        "vector_candidates": result.vector_found,
        "text_candidates": result.text_found,
        **({} if is_restricted else {"chunks": result.corpus_chunks}),
        "chunks_in_scope": result.scope_chunks,
        "relevance": _relevance_explained(search.assessment),
    }
    for step in state.steps("explain"):
        explained |= step.explain(search) if step.explain else {}
    return explained


def _relevance_explained(assessed: relevance.Assessment | None) -> dict[str, Any] | None:
    """The inputs of a hit's relevance besides its score, with the user's calibration if there is one."""
    if assessed is None:
        return None
    is_default = assessed.calibration is relevance.UNCALIBRATED
    return {
        "answered": assessed.answered,
        "best_cosine": assessed.cosine,
        "closeness": assessed.closeness,
        "other_language": assessed.is_foreign,
        "language_read": assessed.is_read,
        "unknown_names": assessed.names_unknown,
        "entities": asdict(assessed.entities),
        "calibration": None if is_default else asdict(assessed.calibration),
    }
