"""Puts the hits of a search into their final order: re-ranked and diversified, as the query asks."""

from __future__ import annotations

from collections.abc import Sequence

from app.pipelines.running.context import SearchContext
from app.pipelines.search import rerank, stale_chunks
from app.pipelines.search.candidates import Recalled
from app.shapes import Hit, Query
from app.store.connection.transactions import retry_read


async def run(
    query: Query, hits: Sequence[Hit], recalled: Recalled, context: SearchContext, *, keep_all: bool
) -> list[Hit]:
    """The hits in the order that re-ranking and MMR give them; `keep_all` keeps those that MMR does not select."""
    if not rerank.is_wanted(query):
        return list(hits)
    options = rerank.options_of(query, recalled.parsed.text, recalled.request.vector, keep_all=keep_all)
    with context.timed("rerank"):
        ordered = await rerank.hits(hits, options, context)
    context.degraded += ordered.degraded
    ranked = rerank.applied(hits, ordered)
    return await _still_stored(ranked, context) if query.rerank == "provider" else ranked


@retry_read
async def _still_stored(hits: Sequence[Hit], context: SearchContext) -> list[Hit]:
    """The hits whose documents were neither replaced nor deleted while the provider was called."""
    async with context.services.db.searching(context.user_id) as reading:
        stale = await stale_chunks.find([hit.candidate for hit in hits], context, reading)
    return [hit for hit in hits if hit.candidate.chunk_id not in stale]
