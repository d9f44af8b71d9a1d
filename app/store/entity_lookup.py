"""Looks up the entities that a query refers to, the documents linked to them, and their mentions in chunks.

Runs `matching_entities.sql`, `documents_of_entities.sql` and `mentions_in_chunks.sql`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.shapes import EntityMatch, Link, MatchedBy, Origin, Vector
from app.store import entities as stored
from app.store import sql, vectors
from app.store.db import Reading

MOST_MATCHES = 50
"""Entities returned for each kind of match."""
MOST_DOCUMENTS = 20_000
"""Linked documents that scope a search; weaker links are left out."""


@dataclass(frozen=True, slots=True)
class Match:
    """An entity that a query refers to, with the kind of match; see `matching_entities.sql`."""

    by: MatchedBy
    key: str | None
    entity_id: UUID
    name: str
    type: str
    origin: Origin
    value: float | None
    terms: int | None


async def matching(
    db: Reading,
    user_id: str,
    *,
    keys: Iterable[str],
    near: Mapping[str, str],
    roles: Iterable[str],
    words: str,
    vector: Vector | None,
) -> list[Match]:
    """The entities that the query names (by these keys), or whose role, team, facts or description match it.

    `near` are keys of names that words of the query resemble, with those words as the text index reads them.
    """
    binds: dict[str, Any] = {
        "user_id": user_id,
        "keys": [key.encode() for key in keys],
        "near_keys": [key.encode() for key in near],
        "near_words": list(near.values()),
        "roles": [stored.ROLE + role for role in roles],
        "words": words,
        "embedding": None if vector is None else vectors.as_text(vector),
        "most": MOST_MATCHES,
    }
    rows = await db.execute(sql.statement("matching_entities"), binds)
    return [Match(**row._mapping) for row in rows]


async def documents(db: Reading, user_id: str, scores: Sequence[tuple[UUID, float]]) -> list[Link]:
    """The documents linked to the entities or to their members, the best parent and the strongest link first."""
    binds = {
        "user_id": user_id,
        "entity_ids": [entity_id for entity_id, _score in scores],
        "scores": [score for _entity_id, score in scores],
        "most": MOST_DOCUMENTS,
    }
    return [Link(**row._mapping) for row in await db.execute(sql.statement("documents_of_entities"), binds)]


async def mentions(
    db: Reading, user_id: str, *, chunk_ids: Sequence[UUID], entities: Sequence[EntityMatch]
) -> dict[UUID, dict[UUID, int]]:
    """How often each chunk mentions each of the entities; chunks without a mention are left out."""
    binds = {
        "user_id": user_id,
        "chunk_ids": list(chunk_ids),
        "entity_ids": [match.entity_id for match in entities],
        "given_ids": [match.entity_id for match in entities if match.origin in ("user", "metadata")],
    }
    found: dict[UUID, dict[UUID, int]] = {}
    for row in await db.execute(sql.statement("mentions_in_chunks"), binds):
        found.setdefault(row.chunk_id, {})[row.entity_id] = row._mapping["count"]
    return found
