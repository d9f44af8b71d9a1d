"""Reads and writes the entities of a user with their names and members.

It writes entities of origin `user`; `mentions` writes entities created from names alone. Every change runs under the
user's lock. Entities of origin `text` are never listed or addressed by id. Reads and writes are split into slices, so
that other tasks of the event loop can run in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from app import errors
from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.entities.types import Entity, EntityDraft, EntityFilter, LinkedDocument

_e = tables.entities.c
_n = tables.entity_names.c
_g = tables.entity_members.c
_m = tables.mentions.c
_COLUMNS = [column for column in _e if column.name != "user_id"]

ROLE = "role:"
"""Prefix of role keys in entity_words."""
SLICE = 250
"""Maximum number of entities, names or members per statement."""
MAX_TYPES = 20
"""Most types that are listed."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity in its stored form.

    `names` maps keys to name and aliases, the name first. `facts_text` is the indexed text of the facts, `role_key` the
    look-up key of the role, `vector` the vector of the description as Postgres text. With `keeps_vector` the stored
    vector is kept.
    """

    entity_id: UUID
    draft: EntityDraft
    names: Mapping[str, str]
    facts_text: str
    role_key: str | None = None
    vector: str | None = None
    keeps_vector: bool = False


async def get(db: Reading, entity_id: UUID) -> Entity:
    """One entity. Raises NotFound, also for an id of another user."""
    if not (matches := await of_ids(db, [entity_id])):
        raise errors.NotFound("No such entity.")
    return matches[0]


async def of_ids(db: Reading, entity_ids: Sequence[UUID]) -> list[Entity]:
    """The existing entities among these, in the order of the ids."""
    found: list[Entity] = []
    for wanted in _slices(list(dict.fromkeys(entity_ids))):
        query = sa.select(*_COLUMNS).where(_e.user_id == db.user_id, sql.among(_e.entity_id, wanted))
        rows = await db.execute(query.where(_e.origin != "text"))
        by_id = {row.entity_id: row for row in rows}
        found += await _whole(db, [by_id[entity] for entity in wanted if entity in by_id])
    return found


async def page(
    db: Reading,
    *,
    limit: int,
    after: tuple[str, UUID] | None = None,
    only: EntityFilter | None = None,
) -> list[Entity]:
    """A page of entities ordered by name and id, beginning after the position `after`.

    Omits an automatic entity if the user has added one with the same name.
    """
    only, (name, entity_id) = only or EntityFilter(), after or (None, None)
    restrictions = {"after": after, "type": only.type, "origin": only.origin, "restricted": db.restriction}
    statement = sql.statement("list_entities", *(part for part, value in restrictions.items() if value is not None))
    binds = {"after_name": name, "after_id": entity_id, "type": only.type, "origin": only.origin}
    used = {bind: value for bind, value in binds.items() if value is not None}
    return await of_ids(db, list(await db.scalars(statement, {"user_id": db.user_id, "limit": limit, **used})))


async def types(db: Reading) -> list[str]:
    """The types of listed entities, most common first, at most MAX_TYPES."""
    query = sa.select(_e.type).where(_e.user_id == db.user_id, _e.origin != "text").group_by(_e.type)
    return list(await db.scalars(query.order_by(sa.func.count().desc(), _e.type).limit(MAX_TYPES)))


async def named(db: Reading, keys: Iterable[str]) -> dict[str, list[UUID]]:
    """The listable entities by key of a name or alias, the user's own entities first."""
    found: dict[str, list[UUID]] = {}
    for wanted in _slices(list(dict.fromkeys(keys))):
        binds = {"user_id": db.user_id, "keys": [key.encode() for key in wanted]}
        for key, entity in await db.execute(sql.statement("entities_by_name"), binds):
            found.setdefault(key.decode(), []).append(entity)
    return found


async def own(db: Reading, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[UUID]]:
    """The user's own entities by type and key of their name, for the pairs that exist. Namesakes are ordered by id."""
    found: dict[tuple[str, str], list[UUID]] = {}
    for wanted in _slices(list(dict.fromkeys(keys))):
        binds = {"types": [kind for kind, _key in wanted], "keys": [key.encode() for _kind, key in wanted]}
        rows = await db.execute(sql.statement("own_entities_by_name"), {"user_id": db.user_id, **binds})
        for row in rows:
            found.setdefault((row.type, row.name_key.decode()), []).append(row.entity_id)
    return {pair: sorted(ids) for pair, ids in found.items()}


async def origins(db: Reading, entity_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The origins of the existing entities among these, whatever their origin."""
    found: dict[UUID, str] = {}
    for wanted in _slices(list(entity_ids)):
        own = (_e.user_id == db.user_id, sql.among(_e.entity_id, wanted))
        rows = await db.execute(sa.select(_e.entity_id, _e.origin).where(*own))
        found |= {row.entity_id: row.origin for row in rows}
    return found


async def names_of(db: Reading, entity_ids: Sequence[UUID]) -> dict[UUID, dict[str, str]]:
    """The names and aliases of entities by key, as written."""
    own = (_n.user_id == db.user_id, sql.among(_n.entity_id, entity_ids))
    query = sa.select(_n.entity_id, _n.name_key, _n.name).where(*own).order_by(_n.place)
    found: dict[UUID, dict[str, str]] = {entity: {} for entity in entity_ids}
    for entity, key, name in await db.execute(query):
        found[entity][key.decode()] = name
    return found


_WRITE_MEMBERS = sql.inline(
    """
    INSERT INTO stepwell.entity_members (user_id, entity_id, member_id)
    SELECT :user_id, g.entity_id, g.member_id
    FROM unnest(:entity_ids::uuid[], :member_ids::uuid[]) AS g (entity_id, member_id)
    ON CONFLICT (user_id, entity_id, member_id) DO NOTHING
    """
)


_MEMBER_OF_TEAMS = sql.inline(
    """
    INSERT INTO stepwell.entity_members (user_id, entity_id, member_id)
    SELECT :user_id, g.entity_id, :by::uuid
    FROM stepwell.entity_members AS g
    WHERE g.user_id = :user_id AND g.member_id = ANY (:member_ids::uuid[])
      AND g.entity_id <> :by AND g.entity_id <> ALL (:member_ids)
    GROUP BY g.entity_id
    ON CONFLICT (user_id, entity_id, member_id) DO NOTHING
    """
)


async def replace_member(db: Writing, member_ids: Sequence[UUID], *, by: UUID) -> None:
    """In every entity that contains one of these members, replace them by another member."""
    await db.execute(_MEMBER_OF_TEAMS, {"user_id": db.user_id, "member_ids": list(member_ids), "by": by})
    those = (_g.user_id == db.user_id, sql.among(_g.member_id, member_ids))
    await db.execute(sa.delete(tables.entity_members).where(*those))


async def save(db: Writing, written: Sequence[EntityRecord]) -> None:
    """Insert or replace entities of origin `user`. Their members must be stored, or be among `written`."""
    for some in _slices(written):
        await _save(db, some)
    members = [(one.entity_id, member) for one in written for member in dict.fromkeys(one.draft.members)]
    for pairs in _slices(members):
        binds = {"entity_ids": [one for one, _member in pairs], "member_ids": [member for _one, member in pairs]}
        await db.execute(_WRITE_MEMBERS, {"user_id": db.user_id, **binds})


_WRITE_ENTITIES = sql.inline(
    """
    INSERT INTO stepwell.entities AS e (user_id, entity_id, type, name, origin, role, facts, description, metadata)
    SELECT :user_id, g.entity_id, g.type, g.name, 'user', g.role, CAST(g.facts AS jsonb),
           g.description, CAST(g.metadata AS jsonb)
    FROM unnest(:entity_id::uuid[], :type::text[], :name::text[], :role::text[],
                :facts::text[], :description::text[], :metadata::text[])
        AS g (entity_id, type, name, role, facts, description, metadata)
    ON CONFLICT (user_id, entity_id) DO UPDATE
    SET type = excluded.type, name = excluded.name, role = excluded.role, facts = excluded.facts,
        description = excluded.description, metadata = excluded.metadata, updated_at = excluded.updated_at
    """
)

_WRITE_NAMES = sql.inline(
    """
    INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name, place)
    SELECT :user_id, g.name_key, g.entity_id, g.name, g.place
    FROM unnest(:entity_ids::uuid[], :places::integer[], :keys::bytea[], :names::text[])
        AS g (entity_id, place, name_key, name)
    ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
    """
)

_WRITE_WORDS = sql.inline(
    """
    INSERT INTO stepwell.entity_words (user_id, lexeme, entity_id)
    SELECT :user_id, w.lexeme, g.entity_id
    FROM unnest(:entity_ids::uuid[], :texts::text[], :roles::text[]) AS g (entity_id, facts, role)
    CROSS JOIN LATERAL (
        SELECT t.lexeme FROM unnest(tsvector_to_array(to_tsvector('english', g.facts))) AS t (lexeme)
        UNION SELECT g.role WHERE g.role <> ''
    ) AS w
    ON CONFLICT (user_id, lexeme, entity_id) DO NOTHING
    """
)


async def _save(db: Writing, written: Sequence[EntityRecord]) -> None:
    """Store everything except the members, because they may be entities in a later slice."""
    ids, drafts = [one.entity_id for one in written], [one.draft for one in written]
    columns = {"entity_id": ids, **sql.columns(drafts, "type", "name", "role", "description")}
    columns["facts"] = [json.dumps(draft.facts) for draft in drafts]
    columns["metadata"] = [json.dumps(dict(draft.metadata)) for draft in drafts]
    await db.execute(_WRITE_ENTITIES, {"user_id": db.user_id, **columns})
    for table in (tables.entity_names, tables.entity_words, tables.entity_members):
        await db.execute(_delete(db, table, ids))
    names = [(one.entity_id, place, *n) for one in written for place, n in enumerate(one.names.items())]
    columns = {
        "entity_ids": [entity for entity, *_rest in names],
        "places": [place for _entity, place, *_rest in names],
        "keys": [key.encode() for *_rest, key, _name in names],
        "names": [name for *_rest, name in names],
    }
    await db.execute(_WRITE_NAMES, {"user_id": db.user_id, **columns})
    roles = [ROLE + one.role_key if one.role_key else "" for one in written]
    facts = {"entity_ids": ids, "texts": [one.facts_text for one in written], "roles": roles}
    await db.execute(_WRITE_WORDS, {"user_id": db.user_id, **facts})
    await _save_vectors(db, written)


async def delete(db: Writing, entity_id: UUID) -> int:
    """Delete one of the user's own entities with its dependent rows; returns the number of deleted mentions."""
    mentions = await db.scalar(sa.select(sa.func.count()).where(_m.user_id == db.user_id, _m.entity_id == entity_id))
    await db.execute(sa.delete(tables.entities).where(_e.user_id == db.user_id, _e.entity_id == entity_id))
    return int(mentions or 0)


async def documents(
    db: Reading, entity_id: UUID, *, limit: int, after: tuple[float, UUID] | None
) -> list[LinkedDocument]:
    """The documents linked to an entity, the strongest first (`linked_documents.sql` has the formula)."""
    strength, document_id = after or (None, None)
    binds = {"entity_id": entity_id, "limit": limit, "after_strength": strength, "after_id": document_id}
    rows = await db.execute(sql.statement("linked_documents"), {"user_id": db.user_id, **binds})
    return [LinkedDocument(**row._mapping) for row in rows]


_WRITE_VECTORS = sql.inline(
    """
    INSERT INTO stepwell.entity_vectors (user_id, entity_id, embedding)
    SELECT :user_id, g.entity_id, {{stored_vector stepwell.entity_vectors, g.embedding}}
    FROM unnest(:entity_ids::uuid[], :vectors::text[]) AS g (entity_id, embedding)
    ON CONFLICT (user_id, entity_id) DO NOTHING
    """
)


async def _save_vectors(db: Writing, written: Sequence[EntityRecord]) -> None:
    await delete_vectors(db, [one.entity_id for one in written if not one.keeps_vector])
    new = {one.entity_id: one.vector for one in written if one.vector is not None and not one.keeps_vector}
    if new:
        binds = {"entity_ids": list(new), "vectors": list(new.values())}
        await db.execute(_WRITE_VECTORS, {"user_id": db.user_id, **binds})


_DELETE_NEXT_VECTORS = sql.inline(
    """
    DELETE FROM stepwell.entity_vectors_next AS n WHERE n.user_id = :user_id AND n.entity_id = ANY (:entity_ids::uuid[])
    """
)


async def delete_vectors(db: Writing, entity_ids: Sequence[UUID]) -> None:
    """Delete the vectors of entities for every model."""
    await db.execute(_delete(db, tables.entity_vectors, entity_ids))
    if db.vector_tables.next:
        binds = {"user_id": db.user_id, "entity_ids": list(entity_ids)}
        await db.execute(_DELETE_NEXT_VECTORS, binds)


def _slices(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[start : start + SLICE] for start in range(0, len(values), SLICE))


def _delete(db: Writing, table: sa.Table, entity_ids: Sequence[UUID]) -> sa.Delete:
    return sa.delete(table).where(table.c.user_id == db.user_id, sql.among(table.c.entity_id, entity_ids))


async def _whole(db: Reading, rows: Sequence[sa.Row[Any]]) -> list[Entity]:
    """Completes rows to entities, with their aliases and members."""
    ids = [row.entity_id for row in rows]
    if not ids:
        return []
    names = await names_of(db, ids)
    query = sa.select(_g.entity_id, _g.member_id).where(_g.user_id == db.user_id, sql.among(_g.entity_id, ids))
    members: dict[UUID, list[UUID]] = {}
    for entity, member in await db.execute(query.order_by(_g.member_id)):
        members.setdefault(entity, []).append(member)
    found: list[Entity] = []
    for row in rows:
        parts: dict[str, Any] = {
            "aliases": tuple(names[row.entity_id].values())[1:],
            "members": tuple(members.get(row.entity_id, ())),
        }
        parts |= {"facts": tuple(row.facts)} if db.shows_entities else _UNDESCRIBED
        found.append(Entity(**{**row._mapping, **parts}))
    return found


_UNDESCRIBED: dict[str, Any] = {"role": None, "description": None, "facts": (), "metadata": {}}
"""The values of an entity's fields for a caller who does not see descriptions and facts."""
