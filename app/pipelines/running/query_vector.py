"""Embeds a query; a failure degrades the search instead of ending it."""

from __future__ import annotations

import asyncio
import logging

from app import errors
from app.pipelines.running.context import SearchContext
from app.providers import base
from app.shapes import Vector

log = logging.getLogger(__name__)


async def embed(text: str, context: SearchContext) -> Vector | None:
    """The vector of the text, or None with the reason in `context.degraded`."""
    embedder = base.for_user(context.services.embedder, context.user_id)
    try:
        with context.timed("embed"):
            async with context.waiting_for(embedder), asyncio.timeout(context.services.budget.embed_s):
                vector = await embedder.embed_query(text)
        return base.unit_vectors([vector], count=1, dimension=embedder.model.dimension)[0]
    except (errors.ProviderError, TimeoutError) as error:
        log.warning("query embedding failed: %s", type(error).__name__, extra={"action": "embedding_failed"})
        context.degraded += ["embedding_failed", "no_query_vector"]
        return None
