"""Computes the similarity of chunks to a query vector and to each other. Runs `similarity_matrix.sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.database import sql
from app.database.transactions import Reading
from app.kinds import Vector


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk's cosine to the query, if it has a vector, and to the other chunks, if asked for."""

    similarity: float | None
    alike: Mapping[UUID, float] = field(default_factory=dict)


async def of(db: Reading, chunk_ids: Sequence[UUID], *, vector: Vector | None, among: bool) -> dict[UUID, Near]:
    """Similarities of the user's chunks that have a vector; `among` adds those to each other, quadratic in number."""
    binds = {
        "user_id": db.user_id,
        "chunk_ids": list(chunk_ids),
        "embedding": vector,
    }
    rows = list(await db.execute(sql.statement("similarity_matrix", *(("matrix",) if among else ())), binds))
    ids = [row.chunk_id for row in rows]
    return {
        row.chunk_id: Near(row.similarity, dict(zip(ids, row.similarities, strict=True)) if among else {})
        for row in rows
    }
