"""Stores the entities that a language model names in a document, with the aliases and roles that it gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.entities.store import entities

_d = tables.documents.c
_n = tables.entity_names.c
_w = tables.entity_words.c


async def content_hash(db: Reading, document_id: UUID) -> bytes | None:
    """The hash of a document's text; None if the document does not exist."""
    own = (_d.user_id == db.user_id, _d.document_id == document_id)
    found: bytes | None = await db.scalar(sa.select(_d.content_hash).where(*own))
    return found


async def save(db: Writing, document_id: UUID, *, content_hash: bytes, extracted: Sequence[Mapping[str, Any]]) -> bool:
    """Store the entities of a document's text. False if they are stored already, or the document has another text."""
    same = (_d.user_id == db.user_id, _d.document_id == document_id, _d.content_hash == content_hash)
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
