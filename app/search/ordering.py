"""Puts the hits of a search into their final order: re-ranked, weighed by age and diversified, as the query asks."""

from __future__ import annotations

from collections.abc import Sequence

from app.database.transactions import retry_read
from app.query.context import SearchContext
from app.query.search_request import SearchRequest
from app.query.types import Hit
from app.search import stale_chunks
from app.search.candidates import Recalled
from app.search.steps.recency import dating
from app.search.steps.reranking import rerank


async def run(
    query: SearchRequest, hits: Sequence[Hit], recalled: Recalled, context: SearchContext, *, keep_all: bool
) -> list[Hit]:
    """The hits in the order that re-ranking, age and MMR give them; `keep_all` keeps those that MMR does not select."""
    if (recency := dating.applied(query)) is not None:
        hits = await _reordered(query.tuned(mmr=False), hits, recalled, context, keep_all=True)
        is_replaced = any("rerank" in (hit.explain or {}) for hit in hits)
        hits = await dating.run(hits, recency, "convex" if is_replaced else recalled.plan.fusion, context)
        query = query.tuned(rerank="none")
    return await _reordered(query, hits, recalled, context, keep_all=keep_all)


async def _reordered(
    query: SearchRequest, hits: Sequence[Hit], recalled: Recalled, context: SearchContext, *, keep_all: bool
) -> list[Hit]:
    """The hits re-ranked and diversified, if that is wanted."""
    if not rerank.is_wanted(query):
        return list(hits)
    options = rerank.options_of(query, recalled.parsed.text, recalled.request.vector, keep_all=keep_all)
    with context.timed("rerank"):
        ordered = await rerank.hits(hits, options, context)
    context.degraded += ordered.degraded
    ranked = rerank.applied(hits, ordered)
    return await _still_stored(ranked, context) if query.ranking.rerank == "provider" else ranked


@retry_read
async def _still_stored(hits: Sequence[Hit], context: SearchContext) -> list[Hit]:
    """The hits whose documents were neither replaced nor deleted while the provider was called."""
    async with context.services.db.searching(context.user_id) as reading:
        stale = await stale_chunks.find([hit.candidate for hit in hits], context, reading)
    return [hit for hit in hits if hit.candidate.chunk_id not in stale]
