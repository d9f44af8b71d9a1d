"""Looks up the entities that a query refers to, the documents linked to them, and their links to chunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from app.database import sql
from app.database.transactions import Reading
from app.documents.store import visible_document_lists
from app.entities.store import entities as stored
from app.enums import MatchedBy, Origin, Vector
from app.query.search_types import EntityMatch

N = TypeVar("N", int, float)

MAX_MATCHES = 50
"""Most entities returned for each kind of match. Each name returns up to this number, all names four times as many."""
MAX_DOCUMENTS = 400
"""Most documents returned for an entity, strongest links first: twice as many as a search may add."""
SAMPLE = 2_000
"""Most mentions of one kind that are read for an entity, so that frequent entities do not slow a search."""
MEMBER_DECAY = 0.25
"""Factor of a link's strength if the entity has the link through a member."""


@dataclass(frozen=True, slots=True)
class Match:
    """An entity that a query refers to, with the kind of match; see `matching_entities.sql`."""

    by: MatchedBy
    key: str | None
    entity_id: UUID
    name: str
    type: str
    origin: Origin
    role: str | None
    value: float | None
    terms: int | None


async def find_matches(
    db: Reading,
    keys: Collection[str],
    *,
    similar: Mapping[str, str],
    roles: Collection[str],
    words: str,
    vector: Vector | None,
) -> list[Match]:
    """The entities that the query refers to by name, role or team, or that match it by facts or description.

    `keys` are the keys of its names, `roles` its word sequences, `words` its words in the form of the English text
    index. `similar` maps the keys of similarly spelled names to the words of the query. Without `vector`,
    descriptions are not compared.
    """
    binds: dict[str, Any] = {
        "user_id": db.user_id,
        "keys": [key.encode() for key in sorted(keys, key=lambda key: (-len(key), key))],
        "near_keys": [key.encode() for key in similar],
        "near_words": list(similar.values()),
        "roles": [stored.ROLE + role for role in roles],
        "words": words,
        "embedding": vector,
        "most": MAX_MATCHES,
    }
    # Only the lookup of similar names must know which documents the caller sees.
    parts, seen = await visible_document_lists.visible_binds(db) if similar else ((), {})
    used_titles = ("used_titles",) if db.has_restricted_role else ()
    rows = await db.execute(sql.statement("matching_entities", *parts, *used_titles), {**binds, **seen})
    found = sql.read_records(Match, rows.all())
    return found if db.shows_entities else [replace(match, role=None) for match in found]


@dataclass(frozen=True, slots=True)
class Namesake:
    """What distinguishes an entity from its namesakes; `similarity` is the cosine of the query and its vector."""

    entity_id: UUID
    role: str | None
    description: str | None
    teams: tuple[str, ...]
    similarity: float | None


async def namesakes(db: Reading, entity_ids: Collection[UUID], vector: Vector | None) -> dict[UUID, Namesake]:
    """What distinguishes entities with the same name, by id."""
    binds = {"entity_ids": list(entity_ids), "embedding": vector, "most": MAX_MATCHES}
    rows = await db.execute(sql.statement("namesakes"), {"user_id": db.user_id, **binds})
    found = [Namesake(r.entity_id, r.role, r.description, tuple(r.teams), r.similarity) for r in rows]
    shown = found if db.shows_entities else [replace(one, role=None, description=None) for one in found]
    return {one.entity_id: one for one in shown}


async def measure_coverage(db: Reading, words: str, texts: Mapping[UUID, str]) -> dict[UUID, float]:
    """The share of the words' idf, 0 to 1, that an entity's facts or its text in `texts` cover.

    Words and texts are in the form of the English text index.
    """
    binds = {"words": words, "entity_ids": list(texts), "texts": list(texts.values())}
    rows = await db.execute(sql.statement("covered_words"), {"user_id": db.user_id, **binds})
    return {row.entity_id: row.covered for row in rows}


@dataclass(frozen=True, slots=True)
class EntityLinks:
    """The links of a query's entities.

    `counts` has the number of linked documents by entity, estimated if there are more than SAMPLE mentions of a kind.
    `strengths` has the link strengths by entity and document: the strongest first, then the links to candidates.
    `mentions` has the number of mentions by chunk and entity, without chunks that have none.
    """

    counts: Mapping[UUID, int]
    strengths: Mapping[UUID, Mapping[UUID, float]]
    mentions: Mapping[UUID, Mapping[UUID, int]]

    def documents(self, entity_ids: Collection[UUID]) -> int:
        """The number of documents that are linked to any of the entities; a lower bound if an entity has very many."""
        known = set().union(*(self.strengths[entity_id] for entity_id in entity_ids))
        return max(len(known), *(self.counts[entity_id] for entity_id in entity_ids))


async def links(
    db: Reading, matches: Sequence[EntityMatch], chunks: Mapping[UUID, UUID], *, documents: int
) -> EntityLinks:
    """Reads the links of each entity, or of its members: to the documents of the chunks, and its strongest links.

    `chunks` maps chunks to their documents. `documents` is the number of strongest links to read for each entity, at
    most MAX_DOCUMENTS.
    """
    binds = {
        "user_id": db.user_id,
        "entity_ids": [match.entity_id for match in matches],
        "given_ids": [match.entity_id for match in matches if match.origin in ("user", "metadata")],
        "chunk_ids": list(chunks),
        "document_ids": list(chunks.values()),
        "decay": MEMBER_DECAY,
        "sample": SAMPLE,
        "most": documents,
    }
    rows = (await db.execute(sql.statement("links_of_entities"), binds)).all()
    strengths = {
        row.entity_id: {
            **_by(row.document_ids, row.strengths),
            **_by([chunks[chunk_id] for chunk_id in row.linked_chunks or ()], row.chunk_strengths),
        }
        for row in rows
    }
    mentions: dict[UUID, dict[UUID, int]] = {}
    for row in rows:
        for chunk_id, count in _by(row.linked_chunks, row.chunk_mentions).items():
            if count:
                mentions.setdefault(chunk_id, {})[row.entity_id] = count
    return EntityLinks({row.entity_id: row.documents for row in rows}, strengths, mentions)


def _by(ids: Sequence[UUID] | None, values: Sequence[N] | None) -> dict[UUID, N]:
    """The values by id, from two parallel arrays. An empty array is null."""
    return dict(zip(ids or (), values or (), strict=True))
