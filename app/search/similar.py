"""Finds the chunks with the highest cosine similarity to a stored chunk or a vector: a search by a vector alone."""

from __future__ import annotations

from uuid import UUID

from app.database.transactions import Database, retry_read
from app.enums import Vector
from app.query import model_replacement
from app.query.search_request import GuidanceOptions, Ranking, SearchRequest, SimilarRequest
from app.query.search_types import Answer
from app.requests import field_types
from app.search import search
from app.search.store import hybrid_search
from app.services import Services


async def run(query: SimilarRequest, user_id: str, services: Services) -> Answer:
    """The nearest chunks, best first.

    Raises NotFound if the chunk does not exist or belongs to another user, `invalid_vector`, and what `search.answer`
    raises.
    """
    return await model_replacement.run(services.embedder, services.db, lambda: _find(query, user_id, services))


async def _find(query: SimilarRequest, user_id: str, services: Services) -> Answer:
    vector, excluded = query.vector or [], query.exclude_chunk_ids
    if query.chunk_id is not None:
        vector, excluded = await _vector_of(query.chunk_id, user_id, services.db), [*excluded, query.chunk_id]
    field_types.expect_dimension(vector, services.embedder.model.dimension)
    by_vector = SearchRequest.model_construct(
        vector=vector,
        limit=query.limit,
        filters=query.filters,
        exclude_chunk_ids=excluded,
        mode="semantic",
        cursor=query.cursor,
        detail=query.detail,
        collapse=query.collapse,
        ranking=Ranking(group=query.group, guidance=GuidanceOptions(mode="off", boost=False)),
    )
    return await search.answer(by_vector, user_id, services)


@retry_read
async def _vector_of(chunk_id: UUID, user_id: str, db: Database) -> Vector:
    async with db.reading(user_id) as reading:
        return await hybrid_search.vector_of(reading, chunk_id)
