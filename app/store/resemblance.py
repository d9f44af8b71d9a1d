"""How near are some chunks to a question, and to each other? The one place that runs `resemblance.sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.shapes import Vector
from app.store import sql, vectors
from app.store.db import Reading


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk's cosine to the question, if there is one, and to the others, if that was asked."""

    similarity: float | None
    alike: Mapping[UUID, float] = field(default_factory=dict)


async def of(
    db: Reading, user_id: str, chunk_ids: Sequence[UUID], *, vector: Vector | None, among: bool
) -> dict[UUID, Near]:
    """The user's own chunks that have a vector; `among` asks for their cosines to each other, the square of them."""
    binds = {
        "user_id": user_id,
        "chunk_ids": list(chunk_ids),
        "embedding": None if vector is None else vectors.as_text(vector),
    }
    rows = list(await db.execute(sql.statement("resemblance", *(("alike",) if among else ())), binds))
    ids = [row.chunk_id for row in rows]
    return {row.chunk_id: Near(row.similarity, dict(zip(ids, row.alike, strict=True)) if among else {}) for row in rows}
