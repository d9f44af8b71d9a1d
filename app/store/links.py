"""Finds chunks by the names that they share with source chunks or with a query.

Runs `links.sql`, `names_of_chunks.sql`, `chunks_by_id.sql` and `lexemes_of_chunks.sql`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from app.shapes import Candidate, ChunkName, Filters, LinkedChunk, Vector
from app.store import recall, sql, vectors
from app.store.db import Reading

MOST_SOURCES = 10
MOST_NAMES = 12
RAREST, COMMONEST = 2, 50
"""Chunks that must hold a name for it to count as shared: fewer give nothing, more are not specific."""
COUNTED = 2_000
"""Chunks up to which a name's mentions are counted; its weight is negligible beyond."""
MOST_SECTIONS = 3
"""Sections over which a heading is a name; one over more ("Members", "Next steps") is ignored."""
SECOND_STEPS, SECOND_WEIGHT = 5, 0.5


async def follow(
    db: Reading,
    user_id: str,
    *,
    sources: Mapping[UUID, float],
    keys: Iterable[str],
    headings: Container[str] = (),
    vector: Vector | None,
    also: Iterable[UUID] = (),
    filters: Filters,
    exclude_chunk_ids: Sequence[UUID] = (),
) -> list[LinkedChunk]:
    """The chunks that names in the source chunks (weights 0 to 1) and in the query lead to, with their similarity.

    `keys` are the keys of the query's word sequences, `headings` those that may be a heading; `also` are chunks whose
    similarity is returned even if no name leads to them.
    """
    given = binds(
        sources,
        keys=keys,
        headings=headings,
        vector=vector,
        also=also,
        filters=filters,
        exclude_chunk_ids=exclude_chunk_ids,
    )
    rows = await db.execute(sql.statement("links"), {"user_id": user_id, **given})
    return [LinkedChunk(**row._mapping) for row in rows]


def binds(
    sources: Mapping[UUID, float],
    *,
    keys: Iterable[str],
    headings: Container[str] = (),
    vector: Vector | None = None,
    also: Iterable[UUID] = (),
    filters: Filters | None = None,
    exclude_chunk_ids: Sequence[UUID] = (),
) -> dict[str, Any]:
    """The statement's binds but for the user."""
    sequences = list(keys)
    filtering = recall.filter_binds(filters or Filters())
    filtering["filtered"] = bool(filters)
    return {
        "source_chunk_ids": list(sources),
        "weights": list(sources.values()),
        "also_ids": list(also),
        "keys": [key.encode() for key in sequences],
        "heading": [key in headings for key in sequences],
        "embedding": None if vector is None else vectors.as_text(vector),
        "most_sources": MOST_SOURCES,
        "most_names": MOST_NAMES,
        "rarest": RAREST,
        "commonest": COMMONEST,
        "counted": COUNTED,
        "most_sections": MOST_SECTIONS,
        "second_steps": SECOND_STEPS,
        "second_weight": SECOND_WEIGHT,
        "exclude_chunk_ids": list(exclude_chunk_ids),
        **filtering,
    }


async def names(db: Reading, user_id: str, chunk_ids: Sequence[UUID]) -> list[ChunkName]:
    """The names in the chunks, with the number of chunks that hold each."""
    binds = {"user_id": user_id, "chunk_ids": list(chunk_ids), "counted": COUNTED}
    return [ChunkName(**row._mapping) for row in await db.execute(sql.statement("names_of_chunks"), binds)]


async def chunks(
    db: Reading, user_id: str, chunk_ids: Sequence[UUID], *, vector: Vector | None
) -> dict[UUID, tuple[Candidate, float | None]]:
    """Chunks by id with their content, without scores, each with its similarity to the vector."""
    embedding = None if vector is None else vectors.as_text(vector)
    binds = {"user_id": user_id, "chunk_ids": list(chunk_ids), "embedding": embedding}
    found = {}
    for row in await db.execute(sql.statement("chunks_by_id"), binds):
        fields = dict(row._mapping)
        similarity = fields.pop("similarity")
        fields["heading_path"] = tuple(fields["heading_path"])
        found[row.chunk_id] = (Candidate(**fields, score=0.0, **_NO_SCORES), similarity)
    return found


async def held(
    db: Reading, user_id: str, chunk_ids: Sequence[UUID], lexemes: Iterable[str]
) -> dict[UUID, frozenset[str]]:
    """Which of the lexemes each of the chunks holds."""
    binds = {"user_id": user_id, "chunk_ids": list(chunk_ids), "lexemes": list(lexemes)}
    rows = await db.execute(sql.statement("lexemes_of_chunks"), binds)
    return {row.chunk_id: frozenset(row.lexemes) for row in rows}


_NO_SCORES: dict[str, Any] = dict.fromkeys(
    ("rrf_score", "convex_score", "vector_score", "text_score", "vector_rank", "text_rank")
)
