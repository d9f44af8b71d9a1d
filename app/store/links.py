"""Finds chunks linked by names to source chunks or to a query.

Runs `links.sql`, `names_of_chunks.sql`, `chunks_by_id.sql` and `lexemes_of_chunks.sql`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from app.shapes import Candidate, ChunkName, LinkedChunk, LinkRequest, Vector
from app.store import recall, sql, vectors
from app.store.db import Reading

MAX_SOURCES = 10
MAX_NAMES = 12
MIN_CHUNKS, MAX_CHUNKS = 2, 50
"""Number of chunks that contain a shared name: a name in one chunk links nothing, a name in more is not specific."""
MAX_COUNTED = 2_000
"""Chunks up to which a name's mentions are counted; its weight is negligible beyond."""
MAX_SECTIONS = 3
"""Sections up to which a heading is treated as a name; one over more ("Members", "Next steps") is ignored."""
SECOND_STEPS, SECOND_WEIGHT = 5, 0.5


async def follow(db: Reading, request: LinkRequest) -> list[LinkedChunk]:
    """The chunks linked by names in the source chunks and in the query, with their similarity to the query vector."""
    rows = await db.execute(sql.statement("links"), binds(request))
    return [LinkedChunk(**row._mapping) for row in rows]


def binds(request: LinkRequest) -> dict[str, Any]:
    """The binds of `links.sql`."""
    keys = list(request.keys)
    return {
        "user_id": request.user_id,
        "source_chunk_ids": list(request.sources),
        "weights": list(request.sources.values()),
        "also_ids": list(request.compared),
        "keys": [key.encode() for key in keys],
        "heading": [key in request.heading_keys for key in keys],
        "embedding": None if request.vector is None else vectors.as_text(request.vector),
        "most_sources": MAX_SOURCES,
        "most_names": MAX_NAMES,
        "rarest": MIN_CHUNKS,
        "commonest": MAX_CHUNKS,
        "counted": MAX_COUNTED,
        "most_sections": MAX_SECTIONS,
        "second_steps": SECOND_STEPS,
        "second_weight": SECOND_WEIGHT,
        "exclude_chunk_ids": list(request.exclude_chunk_ids),
        "filtered": bool(request.filters),
        **recall.filter_binds(request.filters),
    }


async def names(db: Reading, user_id: str, chunk_ids: Sequence[UUID]) -> list[ChunkName]:
    """The names in the chunks, with the number of chunks that contain each."""
    binds = {"user_id": user_id, "chunk_ids": list(chunk_ids), "counted": MAX_COUNTED}
    return [ChunkName(**row._mapping) for row in await db.execute(sql.statement("names_of_chunks"), binds)]


async def chunks(
    db: Reading, user_id: str, chunk_ids: Sequence[UUID], *, vector: Vector | None
) -> dict[UUID, tuple[Candidate, float | None]]:
    """Chunks by id with their content, without scores, each with its similarity to the vector."""
    embedding = None if vector is None else vectors.as_text(vector)
    binds = {"user_id": user_id, "chunk_ids": list(chunk_ids), "embedding": embedding}
    candidates = {}
    for row in await db.execute(sql.statement("chunks_by_id"), binds):
        fields = dict(row._mapping)
        similarity = fields.pop("similarity")
        fields["heading_path"] = tuple(fields["heading_path"])
        candidates[row.chunk_id] = (Candidate(**fields, score=0.0, **_NO_SCORES), similarity)
    return candidates


async def question_lexemes(
    db: Reading, user_id: str, chunk_ids: Sequence[UUID], lexemes: Iterable[str]
) -> dict[UUID, frozenset[str]]:
    """The lexemes of the question that each chunk contains."""
    binds = {"user_id": user_id, "chunk_ids": list(chunk_ids), "lexemes": list(lexemes)}
    rows = await db.execute(sql.statement("lexemes_of_chunks"), binds)
    return {row.chunk_id: frozenset(row.lexemes) for row in rows}


_NO_SCORES: dict[str, Any] = dict.fromkeys(
    ("rrf_score", "convex_score", "vector_score", "text_score", "vector_rank", "text_rank")
)
