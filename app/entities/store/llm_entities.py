"""Stores the entities that a language model names in a document, and the aliases and roles that documents give."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.entities.store import entities
from app.text.names import metadata_names, names

_d = tables.documents.c
_n = tables.entity_names.c
_w = tables.entity_words.c


Version = tuple[bytes, str]
"""What a language model reads of a document: the hash of its text, and its title."""


async def version(db: Reading, document_id: UUID) -> Version | None:
    """What the model would read of a document now; None if the document does not exist."""
    own = (_d.user_id == db.user_id, _d.document_id == document_id)
    row = (await db.execute(sa.select(_d.content_hash, _d.title).where(*own))).one_or_none()
    return None if row is None else (row.content_hash, row.title)


async def save(db: Writing, document_id: UUID, *, version: Version, extracted: Sequence[Mapping[str, Any]]) -> bool:
    """Store the entities of a document's version. False if they are stored already, or another version is."""
    content_hash, title = version
    same = (_d.user_id == db.user_id, _d.document_id == document_id, _d.content_hash == content_hash, _d.title == title)
    new = [dict(one) for one in extracted]
    change = sa.update(tables.documents).where(*same, _d.extracted != sa.literal(new, JSONB)).values(extracted=new)
    return await db.scalar(change.returning(_d.document_id)) is not None


_ADD_ALIASES = sql.inline(
    """
    INSERT INTO stepwell.entity_names (user_id, name_key, entity_id, name, place)
    SELECT :user_id, g.name_key, g.entity_id, g.name, 1
    FROM unnest(:entity_ids::uuid[], :keys::bytea[], :names::text[]) AS g (entity_id, name_key, name)
    WHERE EXISTS (
        SELECT FROM stepwell.entities AS e
        WHERE e.user_id = :user_id AND e.entity_id = g.entity_id AND e.origin = 'metadata')
    ON CONFLICT (user_id, name_key, entity_id) DO NOTHING
    RETURNING name_key, name
    """
)


async def add_aliases(db: Writing, aliases: Sequence[tuple[UUID, str, str]]) -> dict[str, str]:
    """Add aliases (entity, key, name) to entities of origin `metadata`; returns the new aliases by key."""
    binds = {
        "entity_ids": [entity for entity, _key, _name in aliases],
        "keys": [key.encode() for _entity, key, _name in aliases],
        "names": [name for *_rest, name in aliases],
    }
    rows = await db.execute(_ADD_ALIASES, {"user_id": db.user_id, **binds})
    return {row.name_key.decode(): row.name for row in rows}


_ALIASES_OF_TITLES = sql.inline(
    """
    SELECT n.entity_id, n.name_key, n.name
    FROM stepwell.entity_names AS n
    JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = n.entity_id AND e.origin = 'metadata'
    WHERE n.user_id = :user_id AND n.entity_id = ANY (:entity_ids::uuid[]) AND n.place > 0
    """
)
_GIVING_ALIASES = sql.inline(
    """
    SELECT d.title, d.metadata, d.extracted
    FROM (
        SELECT m.document_id, bool_or(m.kind = 'title') AS is_title
        FROM stepwell.mentions AS m
        WHERE m.user_id = :user_id AND m.entity_id = ANY (:entity_ids::uuid[])
          AND m.kind IN ('title', 'metadata', 'attendee')
        GROUP BY m.document_id
    ) AS g
    JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = g.document_id
    WHERE g.is_title OR d.extracted <> '[]'
    """
)
_DELETE_ALIASES = sql.inline(
    """
    DELETE FROM stepwell.entity_names AS n
    USING unnest(:entity_ids::uuid[], :keys::bytea[]) AS g (entity_id, name_key)
    WHERE n.user_id = :user_id AND n.entity_id = g.entity_id AND n.name_key = g.name_key
    """
)


async def drop_aliases(db: Writing, titles: Collection[UUID]) -> dict[str, str]:
    """Delete the aliases that no document gives any more to these entities of origin `metadata`; returns them by key.

    `titles` are the entities that the titles of changed or deleted documents name.
    """
    binds = {"user_id": db.user_id, "entity_ids": list(titles)}
    stored = {(row.entity_id, row.name_key.decode()): row.name for row in await db.execute(_ALIASES_OF_TITLES, binds)}
    if not stored:
        return {}
    binds["entity_ids"] = list({entity for entity, _key in stored})
    for row in await db.execute(_GIVING_ALIASES, binds):
        for tag in metadata_names.of_document(names.title_name(row.title), row.metadata, row.extracted, ()):
            for key in tag.aliases:
                stored.pop((tag.entity_id, key), None)
    if stored:
        ids, keys = zip(*((entity, key.encode()) for entity, key in stored), strict=True)
        await db.execute(_DELETE_ALIASES, {"user_id": db.user_id, "entity_ids": list(ids), "keys": list(keys)})
    return {key: name for (_entity, key), name in stored.items()}


async def add_roles(db: Writing, roles: Mapping[UUID, tuple[str, str]]) -> None:
    """Add roles (text and look-up key) to entities of origin `metadata` that have none."""
    texts, keys = [text for text, _key in roles.values()], [key for _text, key in roles.values()]
    binds = {"entity_ids": list(roles), "roles": texts, "keys": keys}
    await db.execute(sql.statement("add_extracted_roles"), {"user_id": db.user_id, **binds})


async def delete_details(db: Writing, entity_ids: Sequence[UUID]) -> None:
    """Delete the aliases of extracted entities, and the keys and vectors of their roles."""
    if not entity_ids:
        return
    aliases = (_n.user_id == db.user_id, sql.among(_n.entity_id, entity_ids), _n.place > 0)
    await db.execute(sa.delete(tables.entity_names).where(*aliases))
    words = (_w.user_id == db.user_id, sql.among(_w.entity_id, entity_ids))
    await db.execute(sa.delete(tables.entity_words).where(*words))
    await entities.delete_vectors(db, entity_ids)
