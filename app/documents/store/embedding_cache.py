"""Keeps the vectors of passages that a user has stored, in a table that all processes share.

An entry belongs to one user, model, dimension and task. Only the writers of documents use it. It has no lock: rows that
another transaction changes are skipped, which loses at most a use or delays an eviction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.database import sql, vectors
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.database.vectors import VectorValue
from app.documents.types import CacheUse

EVICTED = 500
"""Entries that are evicted at once, at most."""
_v = tables.embedding_cache.c


@dataclass(frozen=True, slots=True)
class CachedModel:
    """The model, the dimension and the task that entries belong to."""

    model: str
    dimension: int
    task: str = "passage"


async def find(db: Reading, of: CachedModel, hashes: Sequence[UUID]) -> dict[UUID, str]:
    """The user's cached vectors (as Postgres text) by the hash of their text, for those that exist."""
    wanted = _v.text_hash == sa.any_(sa.literal(list(hashes), sa.ARRAY(sa.Uuid)))
    same = (_v.model == of.model, _v.dimension == of.dimension, _v.task == of.task)
    query = sa.select(_v.text_hash, sa.cast(_v.embedding, sa.Text)).where(_v.user_id == db.user_id, *same, wanted)
    return {text_hash: vector for text_hash, vector in await db.execute(query)}


async def record_hits(db: Writing, of: CachedModel, hashes: Sequence[UUID]) -> None:
    """Count a use of some entries."""
    binds = {"user_id": db.user_id, "model": of.model, "dimension": of.dimension, "task": of.task}
    await db.execute(sql.statement("use_cached_vectors"), {**binds, "hashes": list(hashes)})


# The order of the rows prevents deadlocks.
_ADD = sql.inline(
    """
    INSERT INTO stepwell.embedding_cache (user_id, model, dimension, task, text_hash, embedding, used_at)
    SELECT :user_id, :model, :dimension, :task, g.text_hash, CAST(g.embedding AS vector), now()
    FROM unnest(:hashes, :vectors) AS g (text_hash, embedding)
    ORDER BY g.text_hash
    ON CONFLICT (user_id, model, dimension, task, text_hash) DO NOTHING
    """,
    user_id="text",
    model="text",
    dimension="integer",
    task="text",
    hashes="uuid[]",
    vectors="text[]",
)


async def add(db: Writing, of: CachedModel, new: Mapping[UUID, VectorValue]) -> None:
    """Store vectors by the hash of their text; those that exist are left unchanged."""
    texts = vectors.as_texts(new.values())
    binds = {"user_id": db.user_id, "model": of.model, "dimension": of.dimension, "task": of.task}
    await db.execute(_ADD, {**binds, "hashes": list(new), "vectors": texts})


async def evict(db: Writing, *, most: int) -> int:
    """Delete the user's least recently used entries beyond `most`, up to EVICTED; returns their number."""
    binds = {"user_id": db.user_id, "most": most, "evicted": EVICTED}
    return len((await db.execute(sql.statement("evict_cached_vectors"), binds)).all())


async def use(db: Reading) -> CacheUse:
    """The number of the user's entries, and how often they were used."""
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(_v.hits), 0)).where(_v.user_id == db.user_id)
    entries, hits = (await db.execute(query)).one()
    return CacheUse(int(entries), int(hits))
