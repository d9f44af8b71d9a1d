"""Turns a query into the request for the hybrid statement: parses it, chooses the fusion, embeds it."""

from __future__ import annotations

from dataclasses import replace

from app.kinds import Vector
from app.models import base
from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.types import HybridRequest, LexicalQuery, Weights
from app.search.ranking import fusion_plan
from app.search.ranking.fusion_plan import FusionPlan
from app.search.state import SearchState
from app.search.store import vocabulary
from app.text.queries import analysis, conditions
from app.text.queries.conditions import IndexText, ParsedQuery, TextCondition
from app.text.words import lexical

ACCENTS_FOLDED, ACCENTS_KEPT = "english", "german"
"""One text-search configuration of each kind: every other one folds accents or keeps them like one of these."""


POOL_FACTOR = 4
MIN_POOL, MAX_POOL = 25, 100
"""Hits that are re-ranked: four times the limit, within these bounds."""
MIN_COMPARED = 10
"""Hits that are read where duplicates are left out: twice the limit, and at least these."""


async def understand(query: SearchRequest, context: SearchContext, *, ahead: int = 0) -> SearchState:
    """Parse the query, choose the weights of its legs, and embed it if a step needs its vector and it has none.

    The request is for `ahead` candidates more than the answer needs.
    """
    parsed = await _parse(query, context)
    if parsed.expression_error:
        context.degraded.append("invalid_expression")
    plan = _plan(query, parsed, context)
    needs_vector = plan.weights.vector > 0 or query.ranking.rerank == "cosine"
    vector = await _vector(query, parsed, context) if needs_vector else None
    request = _request(query, parsed, plan, vector, context.user_id)
    return SearchState(query, context, parsed, replace(request, limit=request.limit + ahead))


async def _parse(query: SearchRequest, context: SearchContext) -> ParsedQuery:
    """The parsed query. A word that the user's texts contain behind a minus sign only is searched for with the sign."""
    parsed = analysis.parse(query.text)
    if not parsed.signed:
        return parsed
    words = {signed[1:]: index_text(signed[1:]) for signed in parsed.signed}
    async with context.services.db.searching(context.user_id) as reading:
        literal = await vocabulary.sign(reading, words)
    return analysis.parse(query.text, literal={f"-{word}" for word in literal}) if literal else parsed


def _plan(query: SearchRequest, parsed: ParsedQuery, context: SearchContext) -> FusionPlan:
    if not parsed.text:
        return fusion_plan.BY_VECTOR
    given = _weights(query)
    plan = fusion_plan.choose(query.mode, query.ranking.fusion, given, parsed.query_type)
    if given is not None or query.mode in fusion_plan.ONE_LEG:
        return plan
    return fusion_plan.with_languages(plan, parsed.text, context.services.embedder.model.languages)


def _weights(query: SearchRequest) -> Weights | None:
    given = query.ranking.weights
    return None if given is None else Weights(given.vector, given.text)


async def _vector(query: SearchRequest, parsed: ParsedQuery, context: SearchContext) -> Vector | None:
    if query.vector is not None:
        return base.unit_vector(query.vector)
    return await context.embed(parsed.text)


def _request(
    query: SearchRequest, parsed: ParsedQuery, plan: FusionPlan, vector: Vector | None, user_id: str
) -> HybridRequest:
    return HybridRequest(
        user_id=user_id,
        vector=vector,
        lexical=lexical_query(parsed) if parsed.text else None,
        weights=plan.weights,
        fusion=plan.fusion,
        by_language=plan.by_language,
        limit=_candidates_wanted(query),
        k=query.ranking.k,
        candidates=query.ranking.candidates,
        filters=query.filters,
        exclude_chunk_ids=tuple(query.exclude_chunk_ids),
        min_vector_score=query.ranking.min_vector_score,
        min_rrf_score=query.ranking.min_rrf_score,
        with_content=query.detail != "ids"
        or bool(parsed.phrases)
        or parsed.query_type == "technical"
        or query.is_reordered
        or query.is_collapsed,
    )


def _candidates_wanted(query: SearchRequest) -> int:
    """How many candidates are needed to fill the answer after the later steps have dropped some."""
    if query.has_minimum or query.group_size is not None:
        return 2 * query.ranking.candidates
    if query.recency is not None:
        return query.ranking.candidates
    if query.is_reordered:
        return pool_size(query.limit)
    return compared_for_duplicates(query.limit) if query.is_collapsed else query.limit


def pool_size(limit: int) -> int:
    """The number of candidates that are ordered again for `limit` hits."""
    return min(MAX_POOL, max(MIN_POOL, POOL_FACTOR * limit))


def compared_for_duplicates(limit: int) -> int:
    """The number of candidates that are read for `limit` hits; where more are duplicates, a page reads all others."""
    return max(MIN_COMPARED, 2 * limit)


def lexical_query(parsed: ParsedQuery) -> LexicalQuery:
    """The parsed query in the form that the text leg reads."""
    return LexicalQuery(
        words=index_text(parsed.words),
        strict=tuple(index_text(text) for text in (*parsed.required, *parsed.phrases)),
        excluded=tuple(index_text(text) for text in parsed.excluded),
        groups=tuple(conditions.mapped(group, _index) for group in parsed.groups),
    )


def _index(operand: TextCondition) -> TextCondition:
    return replace(operand, indexed=index_text(operand.text))


def index_text(text: str) -> IndexText:
    """A text in both forms that the database analyses."""
    return IndexText(folded=lexical.index_text(text, ACCENTS_FOLDED), plain=lexical.index_text(text, ACCENTS_KEPT))
