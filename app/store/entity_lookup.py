"""Looks up the entities that a query refers to, the documents linked to them, and their mentions in chunks.

Runs `matching_entities.sql`, `documents_of_entities.sql` and `mentions_in_chunks.sql`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.shapes import EntityMatch, MatchedBy, Origin, Vector
from app.store import entities as stored
from app.store import sql, vectors
from app.store.db import Reading

MAX_MATCHES = 50
"""Entities returned for each kind of match."""
MAX_DOCUMENTS = 20_000
"""Linked documents of one entity; weaker links are left out."""
MEMBER_DECAY = 0.25
"""Factor of the strength of a link that an entity has through a member."""


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


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A query as the lookup of entities reads it.

    `keys` are keys of names in the query, `roles` its word sequences, and `words` its words as the English text index
    reads them. `similar` maps keys of names with a similar spelling to the words that resemble them. Without `vector`
    descriptions are not compared.
    """

    user_id: str
    keys: Collection[str]
    similar: Mapping[str, str]
    roles: Collection[str]
    words: str
    vector: Vector | None


async def matching(db: Reading, request: MatchRequest) -> list[Match]:
    """The entities that the query refers to by name, role or team, or that match it by facts or description."""
    binds: dict[str, Any] = {
        "user_id": request.user_id,
        "keys": [key.encode() for key in request.keys],
        "near_keys": [key.encode() for key in request.similar],
        "near_words": list(request.similar.values()),
        "roles": [stored.ROLE + role for role in request.roles],
        "words": request.words,
        "embedding": None if request.vector is None else vectors.as_text(request.vector),
        "most": MAX_MATCHES,
    }
    rows = await db.execute(sql.statement("matching_entities"), binds)
    return [Match(**row._mapping) for row in rows]


async def documents(db: Reading, user_id: str, entity_ids: Collection[UUID]) -> dict[UUID, dict[UUID, float]]:
    """The documents linked to each entity or to its members, with the strength of the link, the strongest first."""
    binds = {"user_id": user_id, "entity_ids": list(entity_ids), "decay": MEMBER_DECAY, "most": MAX_DOCUMENTS}
    found: dict[UUID, dict[UUID, float]] = {entity_id: {} for entity_id in entity_ids}
    for row in await db.execute(sql.statement("documents_of_entities"), binds):
        found[row.entity_id][row.document_id] = row.strength
    return found


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
